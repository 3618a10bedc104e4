// An upload while it runs, and how it ends.

import type {Schema} from 'proto/schema_pb';
import {useEffect, useState} from 'preact/hooks';
import {connection} from '../api/connection';
import {useAction} from '../api/load';
import {useStore} from '../api/store';
import {count} from '../parts/format';
import {Remark} from '../parts/layout';
import {Progress} from '../parts/notice';
import type {TableFormat} from '../rows/schema_file';
import {InputProblems, type CheckedRows} from './check';
import {Upload} from './upload';
import {uploadCalls} from './upload_calls';

/** Uploads at once; calls `onDone` when the last row is on the curator's disk and the upload has ended. */
export function UploadRows({name, schema, format, checked, onDone}: {
  name: string; schema: Schema; format: TableFormat; checked: CheckedRows; onDone: () => void;
}) {
  const [stored, setStored] = useState(0);
  const [isStopped, setStopped] = useState(false);
  const {lost} = useStore(connection);
  const send = useAction(async signal => { await new Upload(uploadCalls(name), schema, signal, setStored).run(checked.file, format); });
  const start = async () => {
    setStopped(false);
    if (await send.run()) onDone();
  };
  const stop = () => {
    setStopped(true);
    send.cancel();
  };
  useEffect(() => { void start(); }, []);
  return <>
    <Progress label={lost ? 'Waiting for the daemon; the upload goes on by itself' : send.running ? 'Sending rows' : 'Not sending'}
      share={stored / checked.rows} note={`${count(stored)} of ${count(checked.rows)} rows`}/>
    <InputProblems error={send.error} what="upload"/>
    <div class="actions">
      {send.running ? <button type="button" onClick={stop}>Stop</button> : <button type="button" class="primary" onClick={() => void start()}>Go on</button>}
    </div>
    {(isStopped || send.error !== null) && !send.running && <Remark>What was sent is kept: the upload goes on with the next row, here or later from the dataset's page.</Remark>}
    {send.running && <Remark>Stay on this page until it has ended. If you leave, go on from the dataset's page with the same file.</Remark>}
  </>;
}
