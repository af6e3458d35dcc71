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
INSERT INTO public.inbox VALUES ('done', 'command', '', '2026-11-03T09:00:00.000000+00:00', 'done', '2026-11-03T09:00:00.000000+00:00', '34598995/b1dece9f5d7c7408', 1, NULL, 0);
INSERT INTO public.inbox VALUES ('broken', 'command', '{"text": "status"}', '2026-11-03T09:00:01.000000+00:00', 'done', '2026-11-03T09:00:00.000000+00:00', '34598995/bf4d343506783d30', 1, 'ref 9f: no such table', 0);
INSERT INTO public.inbox VALUES ('taken', 'command', '{"text": "status"}', '2026-11-03T09:00:02.000000+00:00', 'taken', '2026-11-03T09:00:00.000000+00:00', '34598995/f252c94d1e870acc', 1, NULL, 0);
INSERT INTO public.incidents VALUES (1, 26, '68cf3cfadf04616b04187139cc956cee1e3b18ba628a3dc88b8743a82ca6d4b9');
INSERT INTO public.incidents VALUES (2, 5, 'efb1650ec6ec7b1a541ec4eda501f5c7683791713a89aa810836f5f684b0a0c9');
INSERT INTO public.journal VALUES ('wl-1', 1, 'incident-opened', NULL, '2026-11-03T09:00:00.000000+00:00', 'U0ANA00001', '{"channel":"C0ORDERS01","job":"orders-to-iceberg","kind":"incident-opened","metadata_location":"file:///lake/sales/orders/metadata/00012-5f0c.metadata.json","private":false,"runbook":{"applies_to":["iceberg"],"digest":"4c1f4c1f4c1f4c1f4c1f4c1f4c1f4c1f4c1f4c1f4c1f4c1f4c1f4c1f4c1f4c1f","id":"duplicate-rows","is_planned":false,"owners":["streaming"],"steps":[{"branches":{},"id":"duplicates","kind":"evidence","next":"review","prose":"","task":"duplicate_rows","title":"Count duplicates"},{"branches":{},"id":"review","kind":"review","next":null,"prose":"","title":"Review"}],"text":"# Consumers see rows twice\n","title":"Consumers see rows twice"},"severity":"sev2","summary":"Revenue is too high since 09:00.","table":"sales.orders","trusted":5130840912223377421,"window":{"since":5130840912223377421,"until":6609137544918209903}}', '0000000000000000000000000000000000000000000000000000000000000000', '62d29fe09ccfd81baae79423ec73732bc913fe5bda496164e77b597f531ea888');
INSERT INTO public.journal VALUES ('wl-1', 2, 'responder-assigned', NULL, '2026-11-03T09:01:00.000000+00:00', 'U0ANA00001', '{"kind":"responder-assigned","note":"","user":"U0ANA00001"}', '62d29fe09ccfd81baae79423ec73732bc913fe5bda496164e77b597f531ea888', '462ab3b573f1285575f1764a982b1150786452646cc5e59bde37a2cc8005ca13');
INSERT INTO public.journal VALUES ('wl-1', 3, 'waterline-moved', NULL, '2026-11-03T09:02:00.000000+00:00', 'waterline', '{"kind":"waterline-moved","snapshot":5130840912223377421,"status":"under-review"}', '462ab3b573f1285575f1764a982b1150786452646cc5e59bde37a2cc8005ca13', '21eea41af723cccb43a97725658c09ff0521e74694e2a97f05a22b1f55df8766');
INSERT INTO public.journal VALUES ('wl-1', 4, 'evidence-requested', NULL, '2026-11-03T09:03:00.000000+00:00', 'U0ANA00001', '{"branch":null,"first_look":false,"kind":"evidence-requested","run":"01JBQ5M7Z3T9K4X8V2N6R0PE01","step":"duplicates","task":"duplicate_rows"}', '21eea41af723cccb43a97725658c09ff0521e74694e2a97f05a22b1f55df8766', '6c35c575101cb6f500e8b4d6fa7e77edcad4fae3b9d0e04e1bb227584388dae8');
INSERT INTO public.journal VALUES ('wl-1', 5, 'evidence-recorded', NULL, '2026-11-03T09:04:00.000000+00:00', 'waterline', '{"evidence":{"at":"2026-11-03T09:02:00Z","branch":null,"bytes_read":48213,"columns":["order_id","copies"],"could_not_look":[],"finding":null,"head":6609137544918209903,"headline":"220 order ids live more than once.","id":"01JBQ5M7Z3T9K4X8V2N6R0PE01","measures":[{"name":"extra rows","unit":"rows","value":220.0}],"metadata_location":"file:///lake/sales/orders/metadata/00012-5f0c.metadata.json","question":"Does any key live more than once?","remarks":[],"rows":[["4711","2"],["4712","2"]],"sources":["3 manifests of the window"],"task":"duplicate_rows","task_version":1,"took_ms":1840,"verdict":"confirmed","window":{"since":5130840912223377421,"until":6609137544918209903}},"kind":"evidence-recorded","run":"01JBQ5M7Z3T9K4X8V2N6R0PE01"}', '6c35c575101cb6f500e8b4d6fa7e77edcad4fae3b9d0e04e1bb227584388dae8', '02b52841da0bb06dab8b6704ae04fb48333245b45dedb782bc6caa7e52190295');
INSERT INTO public.journal VALUES ('wl-1', 6, 'evidence-requested', NULL, '2026-11-03T09:05:00.000000+00:00', 'U0ANA00001', '{"branch":null,"first_look":false,"kind":"evidence-requested","run":"01JBQ5M7Z3T9K4X8V2N6R0PE02","step":"duplicates","task":"ledger"}', '02b52841da0bb06dab8b6704ae04fb48333245b45dedb782bc6caa7e52190295', '25bb3491912e58e7832f7374f9fd851ab54b49a5a0d7e1c4bb3c8cff957cc00a');
INSERT INTO public.journal VALUES ('wl-1', 7, 'evidence-recorded', NULL, '2026-11-03T09:06:00.000000+00:00', 'waterline', '{"evidence":{"at":"2026-11-03T09:04:00Z","branch":null,"bytes_read":48213,"columns":["order_id","copies"],"could_not_look":[],"finding":{"kind":"ledger","ledger":{"branches":[],"readers_known":true,"rows":[{"added_delete_files":0,"added_files":2,"added_rows":100,"attempts":[0],"checkpoint_id":5,"checkpoint_kind":"checkpoint","code_version":"9f1c2ab","committed_at":"2026-11-03T08:45:00Z","engine":"flink","event_from":null,"event_until":null,"job_id":"a3f1c29d5e6b4f708192a3b4c5d6e7f8","on_main":true,"operation":"append","operator_id":"b0c4849fdea766ab199107cc0073124e","parent_id":null,"partitions":[],"position_from":null,"position_until":null,"readers":[],"refs":[],"removed_delete_files":0,"removed_files":0,"removed_rows":0,"schema_id":null,"sequence_number":1,"sink":"another writer","skipped":[],"snapshot_id":5130840912223372421,"spec_ids":[],"subtasks":null},{"added_delete_files":0,"added_files":2,"added_rows":100,"attempts":[0],"checkpoint_id":6,"checkpoint_kind":"checkpoint","code_version":"9f1c2ab","committed_at":"2026-11-03T08:46:00Z","engine":"flink","event_from":null,"event_until":null,"job_id":"a3f1c29d5e6b4f708192a3b4c5d6e7f8","on_main":true,"operation":"append","operator_id":"b0c4849fdea766ab199107cc0073124e","parent_id":5130840912223372421,"partitions":[],"position_from":null,"position_until":null,"readers":[],"refs":[],"removed_delete_files":0,"removed_files":0,"removed_rows":0,"schema_id":null,"sequence_number":2,"sink":"another writer","skipped":[],"snapshot_id":5130840912223373421,"spec_ids":[],"subtasks":null},{"added_delete_files":0,"added_files":2,"added_rows":100,"attempts":[0],"checkpoint_id":7,"checkpoint_kind":"checkpoint","code_version":"9f1c2ab","committed_at":"2026-11-03T08:47:00Z","engine":"flink","event_from":null,"event_until":null,"job_id":"a3f1c29d5e6b4f708192a3b4c5d6e7f8","on_main":true,"operation":"append","operator_id":"b0c4849fdea766ab199107cc0073124e","parent_id":5130840912223373421,"partitions":[],"position_from":null,"position_until":null,"readers":[],"refs":[],"removed_delete_files":0,"removed_files":0,"removed_rows":0,"schema_id":null,"sequence_number":3,"sink":"another writer","skipped":[],"snapshot_id":5130840912223374421,"spec_ids":[],"subtasks":null},{"added_delete_files":0,"added_files":2,"added_rows":100,"attempts":[0],"checkpoint_id":8,"checkpoint_kind":"checkpoint","code_version":"9f1c2ab","committed_at":"2026-11-03T08:48:00Z","engine":"flink","event_from":null,"event_until":null,"job_id":"a3f1c29d5e6b4f708192a3b4c5d6e7f8","on_main":true,"operation":"append","operator_id":"b0c4849fdea766ab199107cc0073124e","parent_id":5130840912223374421,"partitions":[],"position_from":null,"position_until":null,"readers":[],"refs":[],"removed_delete_files":0,"removed_files":0,"removed_rows":0,"schema_id":null,"sequence_number":4,"sink":"another writer","skipped":[],"snapshot_id":5130840912223375421,"spec_ids":[],"subtasks":null},{"added_delete_files":0,"added_files":2,"added_rows":100,"attempts":[0],"checkpoint_id":9,"checkpoint_kind":"checkpoint","code_version":"9f1c2ab","committed_at":"2026-11-03T08:49:00Z","engine":"flink","event_from":null,"event_until":null,"job_id":"a3f1c29d5e6b4f708192a3b4c5d6e7f8","on_main":true,"operation":"append","operator_id":"b0c4849fdea766ab199107cc0073124e","parent_id":5130840912223375421,"partitions":[],"position_from":null,"position_until":null,"readers":[],"refs":[],"removed_delete_files":0,"removed_files":0,"removed_rows":0,"schema_id":null,"sequence_number":5,"sink":"another writer","skipped":[],"snapshot_id":5130840912223376421,"spec_ids":[],"subtasks":null},{"added_delete_files":0,"added_files":2,"added_rows":100,"attempts":[0],"checkpoint_id":10,"checkpoint_kind":"stop-savepoint","code_version":"9f1c2ab","committed_at":"2026-11-03T08:50:00Z","engine":"flink","event_from":null,"event_until":null,"job_id":"a3f1c29d5e6b4f708192a3b4c5d6e7f8","on_main":true,"operation":"append","operator_id":"b0c4849fdea766ab199107cc0073124e","parent_id":5130840912223376421,"partitions":[],"position_from":null,"position_until":null,"readers":[],"refs":[],"removed_delete_files":0,"removed_files":0,"removed_rows":0,"schema_id":null,"sequence_number":6,"sink":"another writer","skipped":[],"snapshot_id":5130840912223377421,"spec_ids":[],"subtasks":null},{"added_delete_files":0,"added_files":2,"added_rows":100,"attempts":[0],"checkpoint_id":7,"checkpoint_kind":"checkpoint","code_version":"9f1c2ab","committed_at":"2026-11-03T08:56:00Z","engine":"flink","event_from":null,"event_until":null,"job_id":"b92e04f7a1c84d3f9e55d60718293a4b","on_main":true,"operation":"append","operator_id":"b0c4849fdea766ab199107cc0073124e","parent_id":5130840912223377421,"partitions":[],"position_from":null,"position_until":null,"readers":[],"refs":[],"removed_delete_files":0,"removed_files":0,"removed_rows":0,"schema_id":null,"sequence_number":7,"sink":"another writer","skipped":[],"snapshot_id":6609137544918207903,"spec_ids":[],"subtasks":null},{"added_delete_files":0,"added_files":2,"added_rows":100,"attempts":[0],"checkpoint_id":8,"checkpoint_kind":"checkpoint","code_version":"9f1c2ab","committed_at":"2026-11-03T08:57:00Z","engine":"flink","event_from":null,"event_until":null,"job_id":"b92e04f7a1c84d3f9e55d60718293a4b","on_main":true,"operation":"append","operator_id":"b0c4849fdea766ab199107cc0073124e","parent_id":6609137544918207903,"partitions":[],"position_from":null,"position_until":null,"readers":[],"refs":[],"removed_delete_files":0,"removed_files":0,"removed_rows":0,"schema_id":null,"sequence_number":8,"sink":"another writer","skipped":[],"snapshot_id":6609137544918208903,"spec_ids":[],"subtasks":null},{"added_delete_files":0,"added_files":2,"added_rows":100,"attempts":[0],"checkpoint_id":9,"checkpoint_kind":"checkpoint","code_version":"9f1c2ab","committed_at":"2026-11-03T08:58:00Z","engine":"flink","event_from":null,"event_until":null,"job_id":"b92e04f7a1c84d3f9e55d60718293a4b","on_main":true,"operation":"append","operator_id":"b0c4849fdea766ab199107cc0073124e","parent_id":6609137544918208903,"partitions":[],"position_from":null,"position_until":null,"readers":[],"refs":[],"removed_delete_files":0,"removed_files":0,"removed_rows":0,"schema_id":null,"sequence_number":9,"sink":"another writer","skipped":[],"snapshot_id":6609137544918209903,"spec_ids":[],"subtasks":null}],"trailing":[]}},"head":6609137544918209903,"headline":"Run b92e04 committed checkpoints 7 to 9 again.","id":"01JBQ5M7Z3T9K4X8V2N6R0PE02","measures":[{"name":"extra rows","unit":"rows","value":220.0}],"metadata_location":"file:///lake/sales/orders/metadata/00012-5f0c.metadata.json","question":"Does any key live more than once?","remarks":[],"rows":[["4711","2"],["4712","2"]],"sources":["3 manifests of the window"],"task":"ledger","task_version":1,"took_ms":1840,"verdict":"confirmed","window":{"since":5130840912223377421,"until":6609137544918209903}},"kind":"evidence-recorded","run":"01JBQ5M7Z3T9K4X8V2N6R0PE02"}', '25bb3491912e58e7832f7374f9fd851ab54b49a5a0d7e1c4bb3c8cff957cc00a', '421dc310330dc72aa59ced487af58252d57eec7d4ea6eceb69c485657bbadd3e');
INSERT INTO public.journal VALUES ('wl-1', 8, 'evidence-requested', NULL, '2026-11-03T09:07:00.000000+00:00', 'U0ANA00001', '{"branch":null,"first_look":false,"kind":"evidence-requested","run":"01JBQ5M7Z3T9K4X8V2N6R0PE03","step":null,"task":"missing_positions"}', '421dc310330dc72aa59ced487af58252d57eec7d4ea6eceb69c485657bbadd3e', '744a619ab69c1439d0ee5340d922bc146e5b50030ce3a5b087dcb737ba6a3e80');
INSERT INTO public.journal VALUES ('wl-1', 9, 'evidence-ended', NULL, '2026-11-03T09:08:00.000000+00:00', 'waterline', '{"how":"failed","kind":"evidence-ended","message":"Spark lost its executor.","run":"01JBQ5M7Z3T9K4X8V2N6R0PE03"}', '744a619ab69c1439d0ee5340d922bc146e5b50030ce3a5b087dcb737ba6a3e80', '77fff21406ac167f1d3e61b412b172967651b9ec78484ee5fa6ea2762fb38109');
INSERT INTO public.journal VALUES ('wl-1', 10, 'diagnosed', NULL, '2026-11-03T09:09:00.000000+00:00', 'waterline', '{"diagnosis":{"results":[{"examined":{"headline":"run b92e04 was started from savepoint 6 and wrote checkpoints 7 to 10 again.","last_good":5130840912223377421,"reasons":["Checkpoint 7 was committed by run a3f1c2 and again by run b92e04."],"remedy":"rewind-table-and-job","rows":[6609137544918209903],"verdict":"matches","wrong_run":"b92e04f7a1c84d3f9e55d60718293a4b"},"mode":{"act":3,"asks_for":[],"code":"F2","false_positives":["A backfill that repeats checkpoint ids on purpose."],"name":"restored_from_older_savepoint","needs":["ledger"],"neighbours":{"F13":"There both write; here one."},"remedies":[],"title":"the job was restored from an older savepoint"}},{"examined":{"reason":"Only one run is alive.","verdict":"excluded"},"mode":{"act":3,"asks_for":[],"code":"F13","false_positives":["A backfill that repeats checkpoint ids on purpose."],"name":"two_writers","needs":["ledger"],"neighbours":{"F13":"There both write; here one."},"remedies":[],"title":"two jobs write the table"}},{"examined":{"asks":[],"missing":["The positions of the source."],"verdict":"cannot-tell"},"mode":{"act":3,"asks_for":[],"code":"F18","false_positives":["A backfill that repeats checkpoint ids on purpose."],"name":"source_offsets","needs":["ledger"],"neighbours":{"F13":"There both write; here one."},"remedies":[],"title":"the source started elsewhere"}}]},"kind":"diagnosed"}', '77fff21406ac167f1d3e61b412b172967651b9ec78484ee5fa6ea2762fb38109', '1a6b2910f2bcda40b5585ab5530edfd0e3ab5d223a9cd2e76950e9611a2f844f');
INSERT INTO public.journal VALUES ('wl-1', 11, 'proposal-made', NULL, '2026-11-03T09:10:00.000000+00:00', 'U0ANA00001', '{"kind":"proposal-made","proposal":{"action":"rewind_table_and_job","because":"F2: run b92e04 was started from savepoint 6.","code":"F2","effects":[{"job":"orders-to-iceberg","job_id":"b92e04f7a1c84d3f9e55d60718293a4b","kind":"stop-job"},{"keep_head_as":"wl-1-left","kind":"move-table","table":"sales.orders","to":5130840912223377421},{"allow_non_restored":false,"checkpoint_id":10,"job":"orders-to-iceberg","kind":"start-job","on_top_of":null,"path":"file:///state/savepoints/savepoint-a3f1c2-10"}],"evidence":["01JBQ5M7Z3T9K4X8V2N6R0PE01"],"id":"01JBQ5M7Z3T9K4X8V2N6R0PWAB","policy":{"break_glass":null,"different_teams":null,"expires_after":1800.0,"groups":[],"remind":{"groups":[],"users":[]},"remind_every":600.0,"required":1,"teams":{},"users":["U0BEN00001"],"veto":null},"preview":{"affected_runs":[{"at":"2026-11-03T09:00:00Z","consumer":"revenue_daily","run_id":"run-42","snapshot_id":6609137544918209903}],"commits":3,"files":6,"readers_known":true,"replayed_from":10,"rows":300,"sentences":["Stop run b92e04.","Move main to …377421.","Start from checkpoint 10."],"sure":"300 rows leave main of sales.orders, and the job restarts from checkpoint 10."},"proposed_at":"2026-11-03T09:09:00Z","proposed_by":"U0ANA00001","requirements":[{"kind":"table-is","uuid":"7d7f4d0e-1c0a-4b58-9c1f-0b6a5f0e9a11"},{"job":"orders-to-iceberg","job_id":"b92e04f7a1c84d3f9e55d60718293a4b","kind":"run-is-current"},{"head":6609137544918209903,"job_id":"b92e04f7a1c84d3f9e55d60718293a4b","kind":"head-descends"},{"kind":"snapshot-present","snapshot_id":5130840912223377421},{"checkpoint_id":10,"digest":"e3b0e3b0e3b0e3b0e3b0e3b0e3b0e3b0e3b0e3b0e3b0e3b0e3b0e3b0e3b0e3b0","job":"orders-to-iceberg","kind":"restore-point-intact","path":"file:///state/savepoints/savepoint-a3f1c2-10"}],"table":"sales.orders","title":"Rewind table and job: back to checkpoint 10","undo":"Move main back to the tag wl-1-left and start from the savepoint of run b92e04."},"step":null}', '1a6b2910f2bcda40b5585ab5530edfd0e3ab5d223a9cd2e76950e9611a2f844f', '3689048860ceca68301e70c862c62761e3b041298d5c9e2572046b2e3ce45b1f');
INSERT INTO public.journal VALUES ('wl-1', 12, 'proposal-approved', NULL, '2026-11-03T09:11:00.000000+00:00', 'U0BEN00001', '{"approval":{"at":"2026-11-03T09:10:00Z","by":"U0BEN00001","digest":"04fe89d51e9a33b2306257a76fc0a2ffda98f0aa20605478f5d03433c381d333","teams":[],"via":"slack"},"complete":true,"held_until":null,"kind":"proposal-approved","proposal":"01JBQ5M7Z3T9K4X8V2N6R0PWAB"}', '3689048860ceca68301e70c862c62761e3b041298d5c9e2572046b2e3ce45b1f', '4a8598ad45fdd5e3861b60bebe75a1916274792c04ec70004d967b2da0f20478');
INSERT INTO public.journal VALUES ('wl-1', 13, 'execution-started', 'execution/01JBQ5M7Z3T9K4X8V2N6R0PWAB', '2026-11-03T09:12:00.000000+00:00', 'U0BEN00001', '{"kind":"execution-started","proposal":"01JBQ5M7Z3T9K4X8V2N6R0PWAB"}', '4a8598ad45fdd5e3861b60bebe75a1916274792c04ec70004d967b2da0f20478', '9cc6029ca3e4dcae401855ddb08a469a55e2cfce6490f5074f70e6156c5e9d40');
INSERT INTO public.journal VALUES ('wl-1', 14, 'effect-started', NULL, '2026-11-03T09:13:00.000000+00:00', 'waterline', '{"before":{},"checkpoint_id":null,"expected_head":null,"index":0,"job_id":null,"kind":"effect-started","path":null,"pauses":false,"proposal":"01JBQ5M7Z3T9K4X8V2N6R0PWAB"}', '9cc6029ca3e4dcae401855ddb08a469a55e2cfce6490f5074f70e6156c5e9d40', '2346520bf6c5475674268e2f6b2d94dea1f8ea4f4ee27b94c7308a0f3aadbadc');
INSERT INTO public.journal VALUES ('wl-1', 15, 'effect-ended', NULL, '2026-11-03T09:14:00.000000+00:00', 'waterline', '{"detail":"Stopped with a savepoint.","how":"done","index":0,"kind":"effect-ended","proposal":"01JBQ5M7Z3T9K4X8V2N6R0PWAB","result":{}}', '2346520bf6c5475674268e2f6b2d94dea1f8ea4f4ee27b94c7308a0f3aadbadc', '3fb8f1339bce0ddee96bcec13383a274fa07851b79d86d167f57fce70e27426f');
INSERT INTO public.journal VALUES ('wl-1', 16, 'effect-started', NULL, '2026-11-03T09:15:00.000000+00:00', 'waterline', '{"before":{},"checkpoint_id":null,"expected_head":6609137544918209903,"index":1,"job_id":null,"kind":"effect-started","path":null,"pauses":false,"proposal":"01JBQ5M7Z3T9K4X8V2N6R0PWAB"}', '3fb8f1339bce0ddee96bcec13383a274fa07851b79d86d167f57fce70e27426f', '1405a0ca3f07312b40355a339af89f0d23668523255bc43b124ade50463ec7ed');
INSERT INTO public.journal VALUES ('wl-1', 17, 'effect-ended', NULL, '2026-11-03T09:16:00.000000+00:00', 'waterline', '{"detail":"Moved main by one commit.","how":"done","index":1,"kind":"effect-ended","proposal":"01JBQ5M7Z3T9K4X8V2N6R0PWAB","result":{}}', '1405a0ca3f07312b40355a339af89f0d23668523255bc43b124ade50463ec7ed', '5e07c13727e1f39acf3c2f5401870efb4721d060ea0f770768c23d51fe3d11d8');
INSERT INTO public.journal VALUES ('wl-1', 18, 'effect-started', NULL, '2026-11-03T09:17:00.000000+00:00', 'waterline', '{"before":{},"checkpoint_id":null,"expected_head":null,"index":2,"job_id":"c5d0aa1734e94b6f8d20b1e2f3a4c5d6","kind":"effect-started","path":null,"pauses":false,"proposal":"01JBQ5M7Z3T9K4X8V2N6R0PWAB"}', '5e07c13727e1f39acf3c2f5401870efb4721d060ea0f770768c23d51fe3d11d8', '286882bb60480aedc7bf35fad6651135358bde9a3ea5381784e4148f1837963d');
INSERT INTO public.journal VALUES ('wl-1', 19, 'effect-ended', NULL, '2026-11-03T09:18:00.000000+00:00', 'waterline', '{"detail":"Run c5d0aa runs.","how":"done","index":2,"kind":"effect-ended","proposal":"01JBQ5M7Z3T9K4X8V2N6R0PWAB","result":{}}', '286882bb60480aedc7bf35fad6651135358bde9a3ea5381784e4148f1837963d', '5e9e30a9565c7414944b8bb8cfbdf590796cc70f744a133952c87746fece7532');
INSERT INTO public.journal VALUES ('wl-1', 20, 'execution-ended', NULL, '2026-11-03T09:19:00.000000+00:00', 'waterline', '{"kind":"execution-ended","outcome":"applied","proposal":"01JBQ5M7Z3T9K4X8V2N6R0PWAB","sentence":"Table and job were rewound."}', '5e9e30a9565c7414944b8bb8cfbdf590796cc70f744a133952c87746fece7532', 'cc4f3619a0ec2e982258a606e53a15cc5bdff2ba324441036b0df58feb23135b');
INSERT INTO public.journal VALUES ('wl-1', 21, 'verified', NULL, '2026-11-03T09:20:00.000000+00:00', 'waterline', '{"branch":null,"checks":[{"name":"next commit","passed":true,"sentence":"Checkpoint 11 stands on …377421."},{"name":"no duplicates","passed":true,"sentence":"Every order id lives once."},{"name":"readers","passed":null,"sentence":"Lineage could not be asked."}],"evidence":["01JBQ5M7Z3T9K4X8V2N6R0PZZZ"],"head":7211009385562140011,"kind":"verified","moves_waterline":"trusted","passed":true,"proposal":"01JBQ5M7Z3T9K4X8V2N6R0PWAB"}', 'cc4f3619a0ec2e982258a606e53a15cc5bdff2ba324441036b0df58feb23135b', '525cfc0ddbdd8148df970170659c0cddee0b81988f770da4ee29823adcc4482b');
INSERT INTO public.journal VALUES ('wl-1', 22, 'waterline-moved', NULL, '2026-11-03T09:21:00.000000+00:00', 'waterline', '{"kind":"waterline-moved","snapshot":7211009385562140011,"status":"trusted"}', '525cfc0ddbdd8148df970170659c0cddee0b81988f770da4ee29823adcc4482b', 'c9ad01eab48ca60da27e390b86b401ec3956eac65c1eb2bdecf91afafd59e380');
INSERT INTO public.journal VALUES ('wl-1', 23, 'notice-queued', 'notice/wl-1/recovered/revenue_daily/1', '2026-11-03T09:22:00.000000+00:00', 'waterline', '{"kind":"notice-queued","notice":{"answers":[],"channel":"C0ORDERS01","consumer":"revenue_daily","data":null,"kind":"recovered","revision":1,"severity":null,"text":"*Recovered* <b>","title":"","ways":[],"words":""}}', 'c9ad01eab48ca60da27e390b86b401ec3956eac65c1eb2bdecf91afafd59e380', '24b637852f2573d78ccfa005a15f83b4d773ed646cf84e7459bf3573e1732f8d');
INSERT INTO public.journal VALUES ('wl-1', 24, 'notice-ended', NULL, '2026-11-03T09:23:00.000000+00:00', 'waterline', '{"again_at":null,"asks":null,"command":"","detail":"ts 1730624520.000100","doubt":"","how":"delivered","key":"wl-1/recovered/revenue_daily/1","kind":"notice-ended","may_be_there":false,"to":""}', '24b637852f2573d78ccfa005a15f83b4d773ed646cf84e7459bf3573e1732f8d', '5581dfb0261ea0ba97e07696effa131b1c28682984411cc541b16acba9b104e9');
INSERT INTO public.journal VALUES ('wl-1', 25, 'review-opened', NULL, '2026-11-03T09:24:00.000000+00:00', 'U0ANA00001', '{"findings":[{"action":"Start only from stop-savepoints.","contract":"state","due":null,"holds":false,"observed":"Savepoint 6 had no pair.","owner":null,"term":"Restores start from a paired point."}],"kind":"review-opened","snippet":null}', '5581dfb0261ea0ba97e07696effa131b1c28682984411cc541b16acba9b104e9', 'ae33d286fab875b0f5ed7e4b3e04432d515ef5ef14bfb5b28234e1ef809b2149');
INSERT INTO public.journal VALUES ('wl-1', 26, 'incident-closed', NULL, '2026-11-03T09:25:00.000000+00:00', 'U0ANA00001', '{"kind":"incident-closed","reason":"Verified and told."}', 'ae33d286fab875b0f5ed7e4b3e04432d515ef5ef14bfb5b28234e1ef809b2149', '68cf3cfadf04616b04187139cc956cee1e3b18ba628a3dc88b8743a82ca6d4b9');
INSERT INTO public.journal VALUES ('wl-2', 1, 'incident-opened', NULL, '2026-11-03T09:00:00.000000+00:00', 'U0ANA00001', '{"channel":"C0ORDERS01","job":"orders-to-iceberg","kind":"incident-opened","metadata_location":"file:///lake/sales/orders/metadata/00012-5f0c.metadata.json","private":false,"runbook":{"applies_to":["iceberg"],"digest":"4c1f4c1f4c1f4c1f4c1f4c1f4c1f4c1f4c1f4c1f4c1f4c1f4c1f4c1f4c1f4c1f","id":"duplicate-rows","is_planned":false,"owners":["streaming"],"steps":[{"branches":{},"id":"duplicates","kind":"evidence","next":"review","prose":"","task":"duplicate_rows","title":"Count duplicates"},{"branches":{},"id":"review","kind":"review","next":null,"prose":"","title":"Review"}],"text":"# Consumers see rows twice\n","title":"Consumers see rows twice"},"severity":"sev2","summary":"Revenue is too high since 09:00.","table":"sales.orders","trusted":5130840912223377421,"window":{"since":5130840912223377421,"until":6609137544918209903}}', '0000000000000000000000000000000000000000000000000000000000000000', 'bf0b1d5577eb4266f317f418e3c8c29e090c6aef8305c04b4fb3b9124e3e4ee8');
INSERT INTO public.journal VALUES ('wl-2', 2, 'responder-assigned', NULL, '2026-11-03T09:01:00.000000+00:00', 'U0ANA00001', '{"kind":"responder-assigned","note":"","user":"U0ANA00001"}', 'bf0b1d5577eb4266f317f418e3c8c29e090c6aef8305c04b4fb3b9124e3e4ee8', 'a6ccdd4ca1ea6b6620db0bf4b36de706fa900e402908679f6ba42cbaba486940');
INSERT INTO public.journal VALUES ('wl-2', 3, 'waterline-moved', NULL, '2026-11-03T09:02:00.000000+00:00', 'waterline', '{"kind":"waterline-moved","snapshot":5130840912223377421,"status":"under-review"}', 'a6ccdd4ca1ea6b6620db0bf4b36de706fa900e402908679f6ba42cbaba486940', '3621571254645109926a93a7842a0d54eacf75bd5e3797e3d3f4e65d33ccfe3c');
INSERT INTO public.journal VALUES ('wl-2', 4, 'evidence-requested', NULL, '2026-11-03T09:03:00.000000+00:00', 'U0ANA00001', '{"branch":null,"first_look":false,"kind":"evidence-requested","run":"01JBQ5M7Z3T9K4X8V2N6R0PE01","step":"duplicates","task":"duplicate_rows"}', '3621571254645109926a93a7842a0d54eacf75bd5e3797e3d3f4e65d33ccfe3c', '0118e2f4d9cca15505393aff79c91273721433225ca45e57a0a2863d4faaba64');
INSERT INTO public.journal VALUES ('wl-2', 5, 'evidence-recorded', NULL, '2026-11-03T09:04:00.000000+00:00', 'waterline', '{"evidence":{"at":"2026-11-03T09:02:00Z","branch":null,"bytes_read":48213,"columns":["order_id","copies"],"could_not_look":[],"finding":null,"head":6609137544918209903,"headline":"220 order ids live more than once.","id":"01JBQ5M7Z3T9K4X8V2N6R0PE01","measures":[{"name":"extra rows","unit":"rows","value":220.0}],"metadata_location":"file:///lake/sales/orders/metadata/00012-5f0c.metadata.json","question":"Does any key live more than once?","remarks":[],"rows":[["4711","2"],["4712","2"]],"sources":["3 manifests of the window"],"task":"duplicate_rows","task_version":1,"took_ms":1840,"verdict":"confirmed","window":{"since":5130840912223377421,"until":6609137544918209903}},"kind":"evidence-recorded","run":"01JBQ5M7Z3T9K4X8V2N6R0PE01"}', '0118e2f4d9cca15505393aff79c91273721433225ca45e57a0a2863d4faaba64', 'efb1650ec6ec7b1a541ec4eda501f5c7683791713a89aa810836f5f684b0a0c9');
INSERT INTO public.open_tables VALUES ('sales.orders', 2);
INSERT INTO public.outbox VALUES (4, 'wl-2/queued', 'wl-2', 'C3', NULL, NULL, '“wl-2/queued” · ünï', NULL, 1, 0, 'queued', NULL, NULL, 0, NULL);
INSERT INTO public.outbox VALUES (1, 'wl-2/card', 'wl-2', 'C0', NULL, NULL, '“wl-2/card” · ünï', '1762160400.000100', 1, 1, 'sent', '34598995/946addb35b7922c3', NULL, 0, NULL);
INSERT INTO public.outbox VALUES (2, 'wl-2/failed', 'wl-2', 'C1', NULL, NULL, '“wl-2/failed” · ünï', NULL, 1, 0, 'failed', '34598995/7c25257a2d49433f', NULL, 1, 'channel_not_found');
INSERT INTO public.outbox VALUES (3, 'wl-2/sending', 'wl-2', 'C2', NULL, NULL, '“wl-2/sending” · ünï', NULL, 1, 0, 'sending', '34598995/7bbd32b3c4ef2dc4', NULL, 1, NULL);
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
