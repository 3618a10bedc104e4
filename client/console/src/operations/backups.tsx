// #/operations/backups: the existing backups, and a new one.

import type {BackupDone} from 'proto/admin_pb';
import {useState} from 'preact/hooks';
import {admin} from '../api/clients';
import {useAction, useLoad} from '../api/load';
import {bytes, count} from '../parts/format';
import {Command, Empty, Remark, Section, When} from '../parts/layout';
import {Failure, Loading, Notice, Progress} from '../parts/notice';
import {Table} from '../parts/table';
import {OperationsPage} from './frame';
import {Refused} from './refused';

const REFRESH_MS = 30_000;
const NEEDS = 'coppiced --data-dir DIR --backup-dir FOLDER';

function Freshness({backups}: {backups: readonly BackupDone[]}) {
  const newest = backups[0];
  if (newest === undefined) return null;
  const isOld = Date.now() / 1000 - Number(newest.createdUnixSeconds) > 2 * 86_400;
  return isOld ? <Notice kind="warning" title={<>The newest backup was made <When at={newest.createdUnixSeconds}/></>}>
    <p>What was acknowledged since is in none. After a restore every ledger is on hold, until its head is confirmed or the lost charges are written off.</p></Notice> : null;
}

function Restore({backup}: {backup: BackupDone | undefined}) {
  return <Section title="To restore">
    <p>Stop the daemon, and put a backup in the place of an empty folder. Every ledger is then on hold: note their heads before, and confirm them after.</p>
    <Command text={`coppiced restore --from FOLDER --backup-id ${backup?.backupId ?? 'N'} --data-dir DIR`}/>
    <Remark>A backup holds private rows and keys. Whoever can read it can read them.</Remark>
  </Section>;
}

export function Backups() {
  const loaded = useLoad(async signal => (await admin.listBackups({}, {signal})).backups, [], {everyMs: REFRESH_MS});
  const [written, setWritten] = useState(0n);
  const [done, setDone] = useState<BackupDone | null>(null);
  const make = useAction(async signal => {
    setWritten(0n);
    setDone(null);
    for await (const {event} of admin.backup({}, {signal})) {
      if (event.case === 'progress') setWritten(event.value.bytesWritten);
      if (event.case === 'done') setDone(event.value);
    }
    loaded.reload();
  });
  const backups = loaded.data;
  return <OperationsPage tab="backups" title="Backups" lead="A backup holds whatever was acknowledged before it was asked for. The daemon goes on meanwhile."
    actions={backups !== undefined && <button type="button" class="primary" disabled={make.running} onClick={() => void make.run()}>Make a backup</button>}>
    <Refused error={loaded.error} retry={loaded.reload} needs={NEEDS} what="Backups are"/>
    {make.running && <><Progress label="Writing the backup" note={`${bytes(written)} written`}/>
      <div class="actions"><button type="button" onClick={make.cancel}>Stop it</button></div></>}
    <Failure error={make.error}/>
    {done !== null && !make.running && <Notice kind="done" title={`Backup ${done.backupId} is whole, and on disk`}>
      <p>Restoring it takes {bytes(done.bytes)}, in {count(done.files)} files.</p></Notice>}
    {backups === undefined ? loaded.loading && <Loading/> : <>
      <Freshness backups={backups}/>
      <Table caption="The newest first; they share files, so that together they take less than their sum" rows={backups} rowKey={backup => backup.backupId} columns={[
        {head: 'backup', cell: backup => backup.backupId},
        {head: 'made', cell: backup => <When at={backup.createdUnixSeconds} exact/>},
        {head: 'age', cell: backup => <When at={backup.createdUnixSeconds}/>},
        {head: 'size when restored', number: true, cell: backup => bytes(backup.bytes)},
        {head: 'files', number: true, cell: backup => count(backup.files)},
      ]} empty={<Empty title="There is no backup yet" command="coppice admin backup">Make one now, and one each day by a timer; keep the folder on another disk.</Empty>}/>
      <Restore backup={backups[0]}/></>}
  </OperationsPage>;
}
