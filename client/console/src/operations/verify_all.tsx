// Follows the audit log from the first entry still kept to its head.

import {useState} from 'preact/hooks';
import {admin} from '../api/clients';
import {useAction} from '../api/load';
import {count, countOf} from '../parts/format';
import {Failure, Notice, Progress} from '../parts/notice';
import {AuditChain} from './audit_chain';

const ENTRIES_A_CALL = 500;

interface Verdict {
  entries: bigint;
  /** Null if all of it holds. */
  fault: string | null;
}

async function followAll(signal: AbortSignal, onShare: (share: number) => void): Promise<Verdict> {
  const {head, sealed} = await admin.readAuditLog({first: 0n, maxEntries: 1}, {signal});
  if (head === undefined) throw new Error('The daemon answered without the head of the log.');
  const chain = new AuditChain({entries: sealed?.entries ?? 0n, hash: sealed?.hash ?? new Uint8Array()});
  const begin = chain.next;
  while (chain.next < head.entries) {
    const {entries} = await admin.readAuditLog({first: chain.next, maxEntries: ENTRIES_A_CALL}, {signal});
    if (entries.length === 0) return {entries: chain.next - begin, fault: `The daemon answers no entry ${chain.next}, and its head says that there is one.`};
    for (const entry of entries) {
      if (chain.next === head.entries) break;
      const fault = await chain.add(entry);
      if (fault !== null) return {entries: chain.next - begin, fault};
    }
    onShare(Number(chain.next - begin) / Number(head.entries - begin));
  }
  return {entries: chain.next - begin, fault: chain.reaches(head) ? null : 'The last entry is not the one that the head stands for.'};
}

export function VerifyAll() {
  const [share, setShare] = useState(0);
  const [verdict, setVerdict] = useState<Verdict | null>(null);
  const verify = useAction(async signal => {
    setVerdict(null);
    setShare(0);
    setVerdict(await followAll(signal, setShare));
  });
  return <>
    <div class="actions spaced">
      {verify.running ? <button type="button" onClick={verify.cancel}>Stop</button>
        : <button type="button" onClick={() => void verify.run()}>Verify the whole chain</button>}
    </div>
    {verify.running && <Progress label="Following the chain in this browser" share={share}/>}
    <Failure error={verify.error}/>
    {verdict !== null && (verdict.fault === null
      ? <Notice kind="done" title="The chain holds">
        <p>{countOf(verdict.entries, 'entry', 'entries')} from the first that is kept to the head: none was changed, removed or added since it was written.</p></Notice>
      : <Notice kind="error" title="The chain does not hold"><p>{verdict.fault}</p>
        <p>After {count(verdict.entries)} that do. Keep a copy of the store before anything else, and find out who or what changed it (docs/operating.md).</p></Notice>)}
  </>;
}
