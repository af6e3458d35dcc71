CREATE TABLE public.alembic_version (
    version_num character varying(32) NOT NULL
);
CREATE TABLE public.channel_pauses (
    channel character varying(64) NOT NULL,
    until character varying(32) NOT NULL
);
CREATE TABLE public.cursors (
    name character varying(64) NOT NULL,
    incident_id character varying(32) NOT NULL,
    seq integer NOT NULL
);
CREATE TABLE public.inbox (
    key character varying(300) NOT NULL,
    kind character varying(64) NOT NULL,
    payload text NOT NULL,
    received_at character varying(32) NOT NULL,
    state character varying(16) NOT NULL,
    taken_at character varying(32),
    worker character varying(64),
    attempts integer NOT NULL,
    problem text,
    written integer NOT NULL
);
COMMENT ON COLUMN public.inbox.state IS 'waiting | taken | done';
COMMENT ON COLUMN public.inbox.written IS 'Entries that work on it has added to the journal.';
CREATE TABLE public.incidents (
    number integer NOT NULL,
    last_seq integer NOT NULL,
    last_hash character varying(64) NOT NULL
);
COMMENT ON COLUMN public.incidents.number IS 'The n of wl-n.';
COMMENT ON COLUMN public.incidents.last_seq IS 'Compared and swapped by each append.';
COMMENT ON COLUMN public.incidents.last_hash IS 'Anchor of the chain: a cut tail is seen by it.';
CREATE TABLE public.journal (
    incident_id character varying(32) NOT NULL,
    seq integer NOT NULL,
    kind character varying(64) NOT NULL,
    once character varying(300),
    at character varying(32) NOT NULL,
    by character varying(64) NOT NULL,
    body text NOT NULL,
    prev_hash character varying(64) NOT NULL,
    hash character varying(64) NOT NULL
);
COMMENT ON COLUMN public.journal.once IS 'Set where an entry may exist only once.';
COMMENT ON COLUMN public.journal.at IS 'Text exactly as hashed.';
COMMENT ON COLUMN public.journal.body IS 'JSON text exactly as hashed.';
CREATE TABLE public.open_tables (
    table_name character varying(300) NOT NULL,
    number integer NOT NULL
);
COMMENT ON COLUMN public.open_tables.table_name IS 'One open incident a table.';
COMMENT ON COLUMN public.open_tables.number IS 'The n of wl-n.';
CREATE TABLE public.outbox (
    "position" bigint NOT NULL,
    key character varying(300) NOT NULL,
    incident character varying(32),
    channel character varying(64) NOT NULL,
    thread_of character varying(300),
    recipient character varying(64),
    text text,
    ts character varying(32),
    wanted integer NOT NULL,
    shown integer NOT NULL,
    state character varying(16) NOT NULL,
    worker character varying(64),
    due_at character varying(32),
    tries integer NOT NULL,
    problem text
);
COMMENT ON COLUMN public.outbox."position" IS 'Order of being put: posts go out in this order.';
COMMENT ON COLUMN public.outbox.recipient IS 'Set for an ephemeral message.';
COMMENT ON COLUMN public.outbox.state IS 'queued | sending | sent | failed';
COMMENT ON COLUMN public.outbox.due_at IS 'Not before.';
CREATE SEQUENCE public.outbox_position_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.outbox_position_seq OWNED BY public.outbox."position";
CREATE TABLE public.watch_notes (
    "position" bigint NOT NULL,
    key character varying(300) NOT NULL,
    table_name character varying(300) NOT NULL,
    at character varying(32) NOT NULL,
    body text NOT NULL
);
COMMENT ON COLUMN public.watch_notes."position" IS 'Order of being added.';
CREATE SEQUENCE public.watch_notes_position_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.watch_notes_position_seq OWNED BY public.watch_notes."position";
ALTER TABLE ONLY public.outbox ALTER COLUMN "position" SET DEFAULT nextval('public.outbox_position_seq'::regclass);
ALTER TABLE ONLY public.watch_notes ALTER COLUMN "position" SET DEFAULT nextval('public.watch_notes_position_seq'::regclass);
INSERT INTO public.alembic_version VALUES ('0004');
INSERT INTO public.channel_pauses VALUES ('C1', '2026-11-03T09:00:30.000000+00:00');
INSERT INTO public.cursors VALUES ('slack', 'wl-2', 5);
INSERT INTO public.inbox VALUES ('waiting', 'command', '{"text": "status"}', '2026-11-03T09:00:03.000000+00:00', 'waiting', NULL, NULL, 0, NULL, 0);
INSERT INTO public.inbox VALUES ('done', 'command', '', '2026-11-03T09:00:00.000000+00:00', 'done', '2026-11-03T09:00:00.000000+00:00', '806542625', 1, NULL, 0);
INSERT INTO public.inbox VALUES ('broken', 'command', '{"text": "status"}', '2026-11-03T09:00:01.000000+00:00', 'done', '2026-11-03T09:00:00.000000+00:00', '806542625', 1, 'ref 9f: no such table', 0);
INSERT INTO public.inbox VALUES ('taken', 'command', '{"text": "status"}', '2026-11-03T09:00:02.000000+00:00', 'taken', '2026-11-03T09:00:00.000000+00:00', '806542625', 1, NULL, 0);
INSERT INTO public.incidents VALUES (1, 26, '79f585eee5863d4be4da7df75ab03bed52201088ba70d6cd25d3e63a585e5925');
INSERT INTO public.incidents VALUES (2, 5, '14a24d5f011fc89c7068e846804124fc6c292d773528ee1573124691eb94171e');
INSERT INTO public.journal VALUES ('wl-1', 1, 'incident-opened', NULL, '2026-11-03T09:00:00.000000+00:00', 'U0ANA00001', '{"channel":"C0ORDERS01","job":"orders-to-iceberg","kind":"incident-opened","metadata_location":"file:///lake/sales/orders/metadata/00012-5f0c.metadata.json","private":false,"runbook":{"applies_to":["iceberg"],"digest":"4c1f4c1f4c1f4c1f4c1f4c1f4c1f4c1f4c1f4c1f4c1f4c1f4c1f4c1f4c1f4c1f","id":"duplicate-rows","owners":["streaming"],"sections":{},"steps":[{"branches":{},"id":"duplicates","kind":"evidence","line":10,"next":"review","prose":"","section":"Diagnosis","task":"duplicate_rows","title":"Count duplicates"},{"branches":{},"id":"review","kind":"review","line":20,"next":null,"prose":"","section":"Review","title":"Review"}],"text":"# Consumers see rows twice\n","title":"Consumers see rows twice","version":3},"severity":"sev2","summary":"Revenue is too high since 09:00.","table":"sales.orders","trusted":5130840912223377421,"window":{"since":5130840912223377421,"until":6609137544918209903}}', '0000000000000000000000000000000000000000000000000000000000000000', '8873ab0fa3b564bb9250d60890be6678be5aa61d71d1901f5e19baa773588147');
INSERT INTO public.journal VALUES ('wl-1', 2, 'responder-assigned', NULL, '2026-11-03T09:01:00.000000+00:00', 'U0ANA00001', '{"kind":"responder-assigned","user":"U0ANA00001"}', '8873ab0fa3b564bb9250d60890be6678be5aa61d71d1901f5e19baa773588147', 'bd2725a0d67201373858576d19e78f6ea42514aa3b6718bf3e4c069804289161');
INSERT INTO public.journal VALUES ('wl-1', 3, 'waterline-moved', NULL, '2026-11-03T09:02:00.000000+00:00', 'waterline', '{"kind":"waterline-moved","snapshot":5130840912223377421,"status":"under-review"}', 'bd2725a0d67201373858576d19e78f6ea42514aa3b6718bf3e4c069804289161', '9ab6b53dda3c4b5787cc11005a72e8e29137fb9f887210ffebc42ef49b22c1bb');
INSERT INTO public.journal VALUES ('wl-1', 4, 'evidence-requested', NULL, '2026-11-03T09:03:00.000000+00:00', 'U0ANA00001', '{"branch":null,"first_look":false,"kind":"evidence-requested","run":"01JBQ5M7Z3T9K4X8V2N6R0PE01","step":"duplicates","task":"duplicate_rows"}', '9ab6b53dda3c4b5787cc11005a72e8e29137fb9f887210ffebc42ef49b22c1bb', '93cfde1425e807ef3bc47bee039d1aea3d1cfba00aa2adf5a439a2aeb0cbf5a0');
INSERT INTO public.journal VALUES ('wl-1', 5, 'evidence-recorded', NULL, '2026-11-03T09:04:00.000000+00:00', 'waterline', '{"evidence":{"at":"2026-11-03T09:02:00Z","branch":null,"bytes_read":48213,"columns":["order_id","copies"],"could_not_look":[],"finding":null,"head":6609137544918209903,"headline":"220 order ids live more than once.","id":"01JBQ5M7Z3T9K4X8V2N6R0PE01","measures":[{"name":"extra rows","unit":"rows","value":220.0}],"metadata_location":"file:///lake/sales/orders/metadata/00012-5f0c.metadata.json","question":"Does any key live more than once?","rows":[["4711","2"],["4712","2"]],"sources":["3 manifests of the window"],"task":"duplicate_rows","task_version":1,"took_ms":1840,"verdict":"confirmed","window":{"since":5130840912223377421,"until":6609137544918209903}},"kind":"evidence-recorded","run":"01JBQ5M7Z3T9K4X8V2N6R0PE01"}', '93cfde1425e807ef3bc47bee039d1aea3d1cfba00aa2adf5a439a2aeb0cbf5a0', '00cbaec14167d863492e4b9e35ef588d7ed7245823065258568fea9b5104381b');
INSERT INTO public.journal VALUES ('wl-1', 6, 'evidence-requested', NULL, '2026-11-03T09:05:00.000000+00:00', 'U0ANA00001', '{"branch":null,"first_look":false,"kind":"evidence-requested","run":"01JBQ5M7Z3T9K4X8V2N6R0PE02","step":"duplicates","task":"ledger"}', '00cbaec14167d863492e4b9e35ef588d7ed7245823065258568fea9b5104381b', '68ac2295254af4bddbb4f74e6b44f1f1937ab8e4b7329aeceda4d32a43997275');
INSERT INTO public.journal VALUES ('wl-1', 7, 'evidence-recorded', NULL, '2026-11-03T09:06:00.000000+00:00', 'waterline', '{"evidence":{"at":"2026-11-03T09:04:00Z","branch":null,"bytes_read":48213,"columns":["order_id","copies"],"could_not_look":[],"finding":{"kind":"ledger","ledger":{"readers_known":true,"rows":[{"added_delete_files":0,"added_files":2,"added_rows":100,"attempts":[0],"checkpoint_id":5,"checkpoint_kind":"checkpoint","code_version":"9f1c2ab","committed_at":"2026-11-03T08:45:00Z","engine":"flink","event_from":null,"event_until":null,"job_id":"a3f1c29d5e6b4f708192a3b4c5d6e7f8","on_main":true,"operation":"append","operator_id":"b0c4849fdea766ab199107cc0073124e","parent_id":null,"position_from":null,"position_until":null,"readers":[],"refs":[],"removed_delete_files":0,"removed_files":0,"removed_rows":0,"schema_id":null,"sequence_number":1,"sink":"another writer","skipped":[],"snapshot_id":5130840912223372421,"spec_ids":[],"subtasks":null},{"added_delete_files":0,"added_files":2,"added_rows":100,"attempts":[0],"checkpoint_id":6,"checkpoint_kind":"checkpoint","code_version":"9f1c2ab","committed_at":"2026-11-03T08:46:00Z","engine":"flink","event_from":null,"event_until":null,"job_id":"a3f1c29d5e6b4f708192a3b4c5d6e7f8","on_main":true,"operation":"append","operator_id":"b0c4849fdea766ab199107cc0073124e","parent_id":5130840912223372421,"position_from":null,"position_until":null,"readers":[],"refs":[],"removed_delete_files":0,"removed_files":0,"removed_rows":0,"schema_id":null,"sequence_number":2,"sink":"another writer","skipped":[],"snapshot_id":5130840912223373421,"spec_ids":[],"subtasks":null},{"added_delete_files":0,"added_files":2,"added_rows":100,"attempts":[0],"checkpoint_id":7,"checkpoint_kind":"checkpoint","code_version":"9f1c2ab","committed_at":"2026-11-03T08:47:00Z","engine":"flink","event_from":null,"event_until":null,"job_id":"a3f1c29d5e6b4f708192a3b4c5d6e7f8","on_main":true,"operation":"append","operator_id":"b0c4849fdea766ab199107cc0073124e","parent_id":5130840912223373421,"position_from":null,"position_until":null,"readers":[],"refs":[],"removed_delete_files":0,"removed_files":0,"removed_rows":0,"schema_id":null,"sequence_number":3,"sink":"another writer","skipped":[],"snapshot_id":5130840912223374421,"spec_ids":[],"subtasks":null},{"added_delete_files":0,"added_files":2,"added_rows":100,"attempts":[0],"checkpoint_id":8,"checkpoint_kind":"checkpoint","code_version":"9f1c2ab","committed_at":"2026-11-03T08:48:00Z","engine":"flink","event_from":null,"event_until":null,"job_id":"a3f1c29d5e6b4f708192a3b4c5d6e7f8","on_main":true,"operation":"append","operator_id":"b0c4849fdea766ab199107cc0073124e","parent_id":5130840912223374421,"position_from":null,"position_until":null,"readers":[],"refs":[],"removed_delete_files":0,"removed_files":0,"removed_rows":0,"schema_id":null,"sequence_number":4,"sink":"another writer","skipped":[],"snapshot_id":5130840912223375421,"spec_ids":[],"subtasks":null},{"added_delete_files":0,"added_files":2,"added_rows":100,"attempts":[0],"checkpoint_id":9,"checkpoint_kind":"checkpoint","code_version":"9f1c2ab","committed_at":"2026-11-03T08:49:00Z","engine":"flink","event_from":null,"event_until":null,"job_id":"a3f1c29d5e6b4f708192a3b4c5d6e7f8","on_main":true,"operation":"append","operator_id":"b0c4849fdea766ab199107cc0073124e","parent_id":5130840912223375421,"position_from":null,"position_until":null,"readers":[],"refs":[],"removed_delete_files":0,"removed_files":0,"removed_rows":0,"schema_id":null,"sequence_number":5,"sink":"another writer","skipped":[],"snapshot_id":5130840912223376421,"spec_ids":[],"subtasks":null},{"added_delete_files":0,"added_files":2,"added_rows":100,"attempts":[0],"checkpoint_id":10,"checkpoint_kind":"stop-savepoint","code_version":"9f1c2ab","committed_at":"2026-11-03T08:50:00Z","engine":"flink","event_from":null,"event_until":null,"job_id":"a3f1c29d5e6b4f708192a3b4c5d6e7f8","on_main":true,"operation":"append","operator_id":"b0c4849fdea766ab199107cc0073124e","parent_id":5130840912223376421,"position_from":null,"position_until":null,"readers":[],"refs":[],"removed_delete_files":0,"removed_files":0,"removed_rows":0,"schema_id":null,"sequence_number":6,"sink":"another writer","skipped":[],"snapshot_id":5130840912223377421,"spec_ids":[],"subtasks":null},{"added_delete_files":0,"added_files":2,"added_rows":100,"attempts":[0],"checkpoint_id":7,"checkpoint_kind":"checkpoint","code_version":"9f1c2ab","committed_at":"2026-11-03T08:56:00Z","engine":"flink","event_from":null,"event_until":null,"job_id":"b92e04f7a1c84d3f9e55d60718293a4b","on_main":true,"operation":"append","operator_id":"b0c4849fdea766ab199107cc0073124e","parent_id":5130840912223377421,"position_from":null,"position_until":null,"readers":[],"refs":[],"removed_delete_files":0,"removed_files":0,"removed_rows":0,"schema_id":null,"sequence_number":7,"sink":"another writer","skipped":[],"snapshot_id":6609137544918207903,"spec_ids":[],"subtasks":null},{"added_delete_files":0,"added_files":2,"added_rows":100,"attempts":[0],"checkpoint_id":8,"checkpoint_kind":"checkpoint","code_version":"9f1c2ab","committed_at":"2026-11-03T08:57:00Z","engine":"flink","event_from":null,"event_until":null,"job_id":"b92e04f7a1c84d3f9e55d60718293a4b","on_main":true,"operation":"append","operator_id":"b0c4849fdea766ab199107cc0073124e","parent_id":6609137544918207903,"position_from":null,"position_until":null,"readers":[],"refs":[],"removed_delete_files":0,"removed_files":0,"removed_rows":0,"schema_id":null,"sequence_number":8,"sink":"another writer","skipped":[],"snapshot_id":6609137544918208903,"spec_ids":[],"subtasks":null},{"added_delete_files":0,"added_files":2,"added_rows":100,"attempts":[0],"checkpoint_id":9,"checkpoint_kind":"checkpoint","code_version":"9f1c2ab","committed_at":"2026-11-03T08:58:00Z","engine":"flink","event_from":null,"event_until":null,"job_id":"b92e04f7a1c84d3f9e55d60718293a4b","on_main":true,"operation":"append","operator_id":"b0c4849fdea766ab199107cc0073124e","parent_id":6609137544918208903,"position_from":null,"position_until":null,"readers":[],"refs":[],"removed_delete_files":0,"removed_files":0,"removed_rows":0,"schema_id":null,"sequence_number":9,"sink":"another writer","skipped":[],"snapshot_id":6609137544918209903,"spec_ids":[],"subtasks":null}],"trailing":[]}},"head":6609137544918209903,"headline":"Run b92e04 committed checkpoints 7 to 9 again.","id":"01JBQ5M7Z3T9K4X8V2N6R0PE02","measures":[{"name":"extra rows","unit":"rows","value":220.0}],"metadata_location":"file:///lake/sales/orders/metadata/00012-5f0c.metadata.json","question":"Does any key live more than once?","rows":[["4711","2"],["4712","2"]],"sources":["3 manifests of the window"],"task":"ledger","task_version":1,"took_ms":1840,"verdict":"confirmed","window":{"since":5130840912223377421,"until":6609137544918209903}},"kind":"evidence-recorded","run":"01JBQ5M7Z3T9K4X8V2N6R0PE02"}', '68ac2295254af4bddbb4f74e6b44f1f1937ab8e4b7329aeceda4d32a43997275', 'd55c060fe6218c07c083a7db0d5a912311544eec8375a4818e42d8a87f99ecc2');
INSERT INTO public.journal VALUES ('wl-1', 8, 'evidence-requested', NULL, '2026-11-03T09:07:00.000000+00:00', 'U0ANA00001', '{"branch":null,"first_look":false,"kind":"evidence-requested","run":"01JBQ5M7Z3T9K4X8V2N6R0PE03","step":null,"task":"missing_positions"}', 'd55c060fe6218c07c083a7db0d5a912311544eec8375a4818e42d8a87f99ecc2', '23b448640f1f9b73524ed6b9b974d11ebc993afde48b5f874bd21c5c6ead0f69');
INSERT INTO public.journal VALUES ('wl-1', 9, 'evidence-ended', NULL, '2026-11-03T09:08:00.000000+00:00', 'waterline', '{"how":"failed","kind":"evidence-ended","message":"Spark lost its executor.","run":"01JBQ5M7Z3T9K4X8V2N6R0PE03"}', '23b448640f1f9b73524ed6b9b974d11ebc993afde48b5f874bd21c5c6ead0f69', '85d0ac84a397722a2ff7a20cd7b2998e4bb48ed546373b11ccfc4f1ad5fa62d0');
INSERT INTO public.journal VALUES ('wl-1', 10, 'diagnosed', NULL, '2026-11-03T09:09:00.000000+00:00', 'waterline', '{"diagnosis":{"results":[{"examined":{"headline":"run b92e04 was started from savepoint 6 and wrote checkpoints 7 to 10 again.","last_good":5130840912223377421,"reasons":["Checkpoint 7 was committed by run a3f1c2 and again by run b92e04."],"remedy":"rewind-table-and-job","rows":[6609137544918209903],"verdict":"matches","wrong_run":"b92e04f7a1c84d3f9e55d60718293a4b"},"mode":{"act":3,"code":"F2","false_positives":["A backfill that repeats checkpoint ids on purpose."],"name":"restored_from_older_savepoint","needs":["ledger"],"neighbours":["F13"],"remedies":[],"title":"the job was restored from an older savepoint"}},{"examined":{"reason":"Only one run is alive.","verdict":"excluded"},"mode":{"act":3,"code":"F13","false_positives":["A backfill that repeats checkpoint ids on purpose."],"name":"two_writers","needs":["ledger"],"neighbours":["F13"],"remedies":[],"title":"two jobs write the table"}},{"examined":{"missing":["The positions of the source."],"verdict":"cannot-tell"},"mode":{"act":3,"code":"F18","false_positives":["A backfill that repeats checkpoint ids on purpose."],"name":"source_offsets","needs":["ledger"],"neighbours":["F13"],"remedies":[],"title":"the source started elsewhere"}}]},"kind":"diagnosed"}', '85d0ac84a397722a2ff7a20cd7b2998e4bb48ed546373b11ccfc4f1ad5fa62d0', 'af408d29a61316b367116e1542f915c42162b2543eebc8406bb469885e01e015');
INSERT INTO public.journal VALUES ('wl-1', 11, 'proposal-made', NULL, '2026-11-03T09:10:00.000000+00:00', 'U0ANA00001', '{"kind":"proposal-made","proposal":{"action":"rewind_table_and_job","because":"F2: run b92e04 was started from savepoint 6.","code":"F2","effects":[{"job":"orders-to-iceberg","job_id":"b92e04f7a1c84d3f9e55d60718293a4b","kind":"stop-job"},{"keep_head_as":"wl-1-left","kind":"move-table","table":"sales.orders","to":5130840912223377421},{"allow_non_restored":false,"checkpoint_id":10,"job":"orders-to-iceberg","kind":"start-job","on_top_of":null,"path":"file:///state/savepoints/savepoint-a3f1c2-10"}],"evidence":["01JBQ5M7Z3T9K4X8V2N6R0PE01"],"id":"01JBQ5M7Z3T9K4X8V2N6R0PWAB","policy":{"break_glass":null,"different_teams":null,"expires_after":1800.0,"groups":[],"remind":{"groups":[],"users":[]},"remind_every":600.0,"required":1,"teams":{},"users":["U0BEN00001"],"veto":null},"preview":{"affected_runs":[{"at":"2026-11-03T09:00:00Z","consumer":"revenue_daily","run_id":"run-42","snapshot_id":6609137544918209903}],"commits":3,"files":6,"readers_known":true,"replayed_from":10,"rows":300,"sentences":["Stop run b92e04.","Move main to …377421.","Start from checkpoint 10."],"sure":"300 rows leave main of sales.orders, and the job restarts from checkpoint 10."},"proposed_at":"2026-11-03T09:09:00Z","proposed_by":"U0ANA00001","requirements":[{"kind":"table-is","uuid":"7d7f4d0e-1c0a-4b58-9c1f-0b6a5f0e9a11"},{"job":"orders-to-iceberg","job_id":"b92e04f7a1c84d3f9e55d60718293a4b","kind":"run-is-current"},{"head":6609137544918209903,"job_id":"b92e04f7a1c84d3f9e55d60718293a4b","kind":"head-descends"},{"kind":"snapshot-present","snapshot_id":5130840912223377421},{"checkpoint_id":10,"digest":"e3b0e3b0e3b0e3b0e3b0e3b0e3b0e3b0e3b0e3b0e3b0e3b0e3b0e3b0e3b0e3b0","job":"orders-to-iceberg","kind":"restore-point-intact","path":"file:///state/savepoints/savepoint-a3f1c2-10"}],"table":"sales.orders","title":"Rewind table and job: back to checkpoint 10","undo":"Move main back to the tag wl-1-left and start from the savepoint of run b92e04."},"step":null}', 'af408d29a61316b367116e1542f915c42162b2543eebc8406bb469885e01e015', '460d79e6f1194761f632ab410a78a0969c0cffd62b745ec5831ce434e7120d6a');
INSERT INTO public.journal VALUES ('wl-1', 12, 'proposal-approved', NULL, '2026-11-03T09:11:00.000000+00:00', 'U0BEN00001', '{"approval":{"at":"2026-11-03T09:10:00Z","by":"U0BEN00001","digest":"04fe89d51e9a33b2306257a76fc0a2ffda98f0aa20605478f5d03433c381d333","teams":[],"via":"slack"},"complete":true,"held_until":null,"kind":"proposal-approved","proposal":"01JBQ5M7Z3T9K4X8V2N6R0PWAB"}', '460d79e6f1194761f632ab410a78a0969c0cffd62b745ec5831ce434e7120d6a', '962170ab8d180772d259dd0fe5034e41418a4ee23fe5309261cbcdc66309d46a');
INSERT INTO public.journal VALUES ('wl-1', 13, 'execution-started', 'execution/01JBQ5M7Z3T9K4X8V2N6R0PWAB', '2026-11-03T09:12:00.000000+00:00', 'U0BEN00001', '{"kind":"execution-started","proposal":"01JBQ5M7Z3T9K4X8V2N6R0PWAB"}', '962170ab8d180772d259dd0fe5034e41418a4ee23fe5309261cbcdc66309d46a', 'ef2d538b504b539b7811d0ebd68e0e72602615dcafaaba1223e7dfffcf679f79');
INSERT INTO public.journal VALUES ('wl-1', 14, 'effect-started', NULL, '2026-11-03T09:13:00.000000+00:00', 'waterline', '{"before":{},"checkpoint_id":null,"expected_head":null,"index":0,"job_id":null,"kind":"effect-started","path":null,"proposal":"01JBQ5M7Z3T9K4X8V2N6R0PWAB"}', 'ef2d538b504b539b7811d0ebd68e0e72602615dcafaaba1223e7dfffcf679f79', 'f3da1e82cf43b6723371279fd55f8d7bdb20dd292f00b5aed3db00a67e5fa225');
INSERT INTO public.journal VALUES ('wl-1', 15, 'effect-ended', NULL, '2026-11-03T09:14:00.000000+00:00', 'waterline', '{"detail":"Stopped with a savepoint.","how":"done","index":0,"kind":"effect-ended","proposal":"01JBQ5M7Z3T9K4X8V2N6R0PWAB","result":{}}', 'f3da1e82cf43b6723371279fd55f8d7bdb20dd292f00b5aed3db00a67e5fa225', '00e1428e0b368477f7571b058dcc90f6a3490b77b88085230353fa80ae41e9f4');
INSERT INTO public.journal VALUES ('wl-1', 16, 'effect-started', NULL, '2026-11-03T09:15:00.000000+00:00', 'waterline', '{"before":{},"checkpoint_id":null,"expected_head":6609137544918209903,"index":1,"job_id":null,"kind":"effect-started","path":null,"proposal":"01JBQ5M7Z3T9K4X8V2N6R0PWAB"}', '00e1428e0b368477f7571b058dcc90f6a3490b77b88085230353fa80ae41e9f4', '4813464464163399cde7b1dcb3cc736fece82af879a266c6c382337be39e0f40');
INSERT INTO public.journal VALUES ('wl-1', 17, 'effect-ended', NULL, '2026-11-03T09:16:00.000000+00:00', 'waterline', '{"detail":"Moved main by one commit.","how":"done","index":1,"kind":"effect-ended","proposal":"01JBQ5M7Z3T9K4X8V2N6R0PWAB","result":{}}', '4813464464163399cde7b1dcb3cc736fece82af879a266c6c382337be39e0f40', '25cf6461128b620b550fde07803bf4394d18c33be1416d86c486d4e1c23999f6');
INSERT INTO public.journal VALUES ('wl-1', 18, 'effect-started', NULL, '2026-11-03T09:17:00.000000+00:00', 'waterline', '{"before":{},"checkpoint_id":null,"expected_head":null,"index":2,"job_id":"c5d0aa1734e94b6f8d20b1e2f3a4c5d6","kind":"effect-started","path":null,"proposal":"01JBQ5M7Z3T9K4X8V2N6R0PWAB"}', '25cf6461128b620b550fde07803bf4394d18c33be1416d86c486d4e1c23999f6', 'fb6f93a913e58940f3471b3b2108d688b7f59b3dce52f16ef4c40ed8640dad9d');
INSERT INTO public.journal VALUES ('wl-1', 19, 'effect-ended', NULL, '2026-11-03T09:18:00.000000+00:00', 'waterline', '{"detail":"Run c5d0aa runs.","how":"done","index":2,"kind":"effect-ended","proposal":"01JBQ5M7Z3T9K4X8V2N6R0PWAB","result":{}}', 'fb6f93a913e58940f3471b3b2108d688b7f59b3dce52f16ef4c40ed8640dad9d', '2b42edd8b2c4d813ca58728f937ea91c8ea5108c905b9302c5b51002bce4a950');
INSERT INTO public.journal VALUES ('wl-1', 20, 'execution-ended', NULL, '2026-11-03T09:19:00.000000+00:00', 'waterline', '{"kind":"execution-ended","outcome":"applied","proposal":"01JBQ5M7Z3T9K4X8V2N6R0PWAB","sentence":"Table and job were rewound."}', '2b42edd8b2c4d813ca58728f937ea91c8ea5108c905b9302c5b51002bce4a950', '61e7f39f34a8208cd6f54dc71bbe2777138f19fd2532bbf0d7ffc310de0097c0');
INSERT INTO public.journal VALUES ('wl-1', 21, 'verified', NULL, '2026-11-03T09:20:00.000000+00:00', 'waterline', '{"branch":null,"checks":[{"name":"next commit","passed":true,"sentence":"Checkpoint 11 stands on …377421."},{"name":"no duplicates","passed":true,"sentence":"Every order id lives once."},{"name":"readers","passed":null,"sentence":"Lineage could not be asked."}],"evidence":[],"head":7211009385562140011,"kind":"verified","moves_waterline":"trusted","passed":true,"proposal":"01JBQ5M7Z3T9K4X8V2N6R0PWAB"}', '61e7f39f34a8208cd6f54dc71bbe2777138f19fd2532bbf0d7ffc310de0097c0', 'e07fd9bd216d8183db0b3822d0c678e4e76d90b188550cfd46ee6d3821b13ea4');
INSERT INTO public.journal VALUES ('wl-1', 22, 'waterline-moved', NULL, '2026-11-03T09:21:00.000000+00:00', 'waterline', '{"kind":"waterline-moved","snapshot":7211009385562140011,"status":"trusted"}', 'e07fd9bd216d8183db0b3822d0c678e4e76d90b188550cfd46ee6d3821b13ea4', '6f7cb980f4577364c6aa16df953c88bd5f198e7f115508e9a49672e4ab4cf7e1');
INSERT INTO public.journal VALUES ('wl-1', 23, 'notice-queued', 'notice/wl-1/recovered/revenue_daily/1', '2026-11-03T09:22:00.000000+00:00', 'waterline', '{"kind":"notice-queued","notice":{"answers":[],"channel":"C0ORDERS01","consumer":"revenue_daily","data":null,"kind":"recovered","revision":1,"severity":null,"text":"*Recovered* <b>","title":"","ways":[]}}', '6f7cb980f4577364c6aa16df953c88bd5f198e7f115508e9a49672e4ab4cf7e1', '187f60bf95749eb618591e9768a6b5c9283a6933100cb702cd554748778660df');
INSERT INTO public.journal VALUES ('wl-1', 24, 'notice-ended', NULL, '2026-11-03T09:23:00.000000+00:00', 'waterline', '{"detail":"ts 1730624520.000100","how":"delivered","key":"wl-1/recovered/revenue_daily/1","kind":"notice-ended"}', '187f60bf95749eb618591e9768a6b5c9283a6933100cb702cd554748778660df', 'b248eb159b958cb963e075dfb07fc6056fdff79cc7e25feb0878ae9aee403b20');
INSERT INTO public.journal VALUES ('wl-1', 25, 'review-opened', NULL, '2026-11-03T09:24:00.000000+00:00', 'U0ANA00001', '{"earlier":[],"findings":[{"action":"Start only from stop-savepoints.","contract":"state","due":null,"holds":false,"observed":"Savepoint 6 had no pair.","owner":null,"term":"Restores start from a paired point."}],"kind":"review-opened","patch":null}', 'b248eb159b958cb963e075dfb07fc6056fdff79cc7e25feb0878ae9aee403b20', 'd9c40af1e3baeda4467ee6f5e94946c85d554383da7546c9e455ae69d5ba0afb');
INSERT INTO public.journal VALUES ('wl-1', 26, 'incident-closed', NULL, '2026-11-03T09:25:00.000000+00:00', 'U0ANA00001', '{"kind":"incident-closed","reason":"Verified and told."}', 'd9c40af1e3baeda4467ee6f5e94946c85d554383da7546c9e455ae69d5ba0afb', '79f585eee5863d4be4da7df75ab03bed52201088ba70d6cd25d3e63a585e5925');
INSERT INTO public.journal VALUES ('wl-2', 1, 'incident-opened', NULL, '2026-11-03T09:00:00.000000+00:00', 'U0ANA00001', '{"channel":"C0ORDERS01","job":"orders-to-iceberg","kind":"incident-opened","metadata_location":"file:///lake/sales/orders/metadata/00012-5f0c.metadata.json","private":false,"runbook":{"applies_to":["iceberg"],"digest":"4c1f4c1f4c1f4c1f4c1f4c1f4c1f4c1f4c1f4c1f4c1f4c1f4c1f4c1f4c1f4c1f","id":"duplicate-rows","owners":["streaming"],"sections":{},"steps":[{"branches":{},"id":"duplicates","kind":"evidence","line":10,"next":"review","prose":"","section":"Diagnosis","task":"duplicate_rows","title":"Count duplicates"},{"branches":{},"id":"review","kind":"review","line":20,"next":null,"prose":"","section":"Review","title":"Review"}],"text":"# Consumers see rows twice\n","title":"Consumers see rows twice","version":3},"severity":"sev2","summary":"Revenue is too high since 09:00.","table":"sales.orders","trusted":5130840912223377421,"window":{"since":5130840912223377421,"until":6609137544918209903}}', '0000000000000000000000000000000000000000000000000000000000000000', 'eeb9729e3e546463476c61a6e198b40bf3026a090a4f8197dd3c8209d98c665a');
INSERT INTO public.journal VALUES ('wl-2', 2, 'responder-assigned', NULL, '2026-11-03T09:01:00.000000+00:00', 'U0ANA00001', '{"kind":"responder-assigned","user":"U0ANA00001"}', 'eeb9729e3e546463476c61a6e198b40bf3026a090a4f8197dd3c8209d98c665a', '2adffc506bf7a170c262c0c0bf2854dcab48ac1b062806e4bfe851e56a7cbcab');
INSERT INTO public.journal VALUES ('wl-2', 3, 'waterline-moved', NULL, '2026-11-03T09:02:00.000000+00:00', 'waterline', '{"kind":"waterline-moved","snapshot":5130840912223377421,"status":"under-review"}', '2adffc506bf7a170c262c0c0bf2854dcab48ac1b062806e4bfe851e56a7cbcab', '81e6dda652d7ae0ea4ee5a42614ccd00ade652b504c56115e7f960571edf475f');
INSERT INTO public.journal VALUES ('wl-2', 4, 'evidence-requested', NULL, '2026-11-03T09:03:00.000000+00:00', 'U0ANA00001', '{"branch":null,"first_look":false,"kind":"evidence-requested","run":"01JBQ5M7Z3T9K4X8V2N6R0PE01","step":"duplicates","task":"duplicate_rows"}', '81e6dda652d7ae0ea4ee5a42614ccd00ade652b504c56115e7f960571edf475f', '1e93709a649634d2fdc8b117fa6bdab53284698cb9416bfb4de9772ee65c064d');
INSERT INTO public.journal VALUES ('wl-2', 5, 'evidence-recorded', NULL, '2026-11-03T09:04:00.000000+00:00', 'waterline', '{"evidence":{"at":"2026-11-03T09:02:00Z","branch":null,"bytes_read":48213,"columns":["order_id","copies"],"could_not_look":[],"finding":null,"head":6609137544918209903,"headline":"220 order ids live more than once.","id":"01JBQ5M7Z3T9K4X8V2N6R0PE01","measures":[{"name":"extra rows","unit":"rows","value":220.0}],"metadata_location":"file:///lake/sales/orders/metadata/00012-5f0c.metadata.json","question":"Does any key live more than once?","rows":[["4711","2"],["4712","2"]],"sources":["3 manifests of the window"],"task":"duplicate_rows","task_version":1,"took_ms":1840,"verdict":"confirmed","window":{"since":5130840912223377421,"until":6609137544918209903}},"kind":"evidence-recorded","run":"01JBQ5M7Z3T9K4X8V2N6R0PE01"}', '1e93709a649634d2fdc8b117fa6bdab53284698cb9416bfb4de9772ee65c064d', '14a24d5f011fc89c7068e846804124fc6c292d773528ee1573124691eb94171e');
INSERT INTO public.open_tables VALUES ('sales.orders', 2);
INSERT INTO public.outbox VALUES (4, 'wl-2/queued', 'wl-2', 'C3', NULL, NULL, '“wl-2/queued” · ünï', NULL, 1, 0, 'queued', NULL, NULL, 0, NULL);
INSERT INTO public.outbox VALUES (1, 'wl-2/card', 'wl-2', 'C0', NULL, NULL, '“wl-2/card” · ünï', '1762160400.000100', 1, 1, 'sent', '806542625', NULL, 0, NULL);
INSERT INTO public.outbox VALUES (2, 'wl-2/failed', 'wl-2', 'C1', NULL, NULL, '“wl-2/failed” · ünï', NULL, 1, 0, 'failed', '806542625', NULL, 1, 'channel_not_found');
INSERT INTO public.outbox VALUES (3, 'wl-2/sending', 'wl-2', 'C2', NULL, NULL, '“wl-2/sending” · ünï', NULL, 1, 0, 'sending', '806542625', NULL, 1, NULL);
ALTER TABLE ONLY public.alembic_version
    ADD CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num);
ALTER TABLE ONLY public.channel_pauses
    ADD CONSTRAINT pk_channel_pauses PRIMARY KEY (channel);
ALTER TABLE ONLY public.cursors
    ADD CONSTRAINT pk_cursors PRIMARY KEY (name, incident_id);
ALTER TABLE ONLY public.inbox
    ADD CONSTRAINT pk_inbox PRIMARY KEY (key);
ALTER TABLE ONLY public.incidents
    ADD CONSTRAINT pk_incidents PRIMARY KEY (number);
ALTER TABLE ONLY public.journal
    ADD CONSTRAINT pk_journal PRIMARY KEY (incident_id, seq);
ALTER TABLE ONLY public.open_tables
    ADD CONSTRAINT pk_open_tables PRIMARY KEY (table_name);
ALTER TABLE ONLY public.outbox
    ADD CONSTRAINT pk_outbox PRIMARY KEY ("position");
ALTER TABLE ONLY public.watch_notes
    ADD CONSTRAINT pk_watch_notes PRIMARY KEY ("position");
ALTER TABLE ONLY public.journal
    ADD CONSTRAINT uq_journal_once UNIQUE (once);
ALTER TABLE ONLY public.outbox
    ADD CONSTRAINT uq_outbox_key UNIQUE (key);
ALTER TABLE ONLY public.watch_notes
    ADD CONSTRAINT uq_watch_notes_key UNIQUE (key);
CREATE INDEX ix_inbox_state ON public.inbox USING btree (state, received_at);
CREATE INDEX ix_outbox_state ON public.outbox USING btree (state, "position");
CREATE INDEX ix_watch_notes_table_name ON public.watch_notes USING btree (table_name);
