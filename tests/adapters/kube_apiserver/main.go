// A Kubernetes API server with its store in one process, for tests on loopback: the real kube-apiserver, started by its
// own command, over an embedded etcd that forgets nothing but is not synced to disk.
package main

import (
	"fmt"
	"net/url"
	"os"

	"go.etcd.io/etcd/server/v3/embed"
	"k8s.io/component-base/cli"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

func main() {
	store, err := started(os.Getenv("ETCD_DIR"), os.Getenv("ETCD_URL"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	code := cli.Run(app.NewAPIServerCommand())
	store.Close()
	os.Exit(code)
}

func started(folder, address string) (*embed.Etcd, error) {
	clients, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	peers := url.URL{Scheme: "http", Host: "127.0.0.1:0"}
	config := embed.NewConfig()
	config.Dir = folder
	config.ListenClientUrls = []url.URL{*clients}
	config.AdvertiseClientUrls = config.ListenClientUrls
	config.ListenPeerUrls = []url.URL{peers}
	config.UnsafeNoFsync = true
	config.LogLevel = "error"
	store, err := embed.StartEtcd(config)
	if err != nil {
		return nil, err
	}
	<-store.Server.ReadyNotify()
	return store, nil
}
