// #/operations/audit: who did what to what, newest first, and whether the chain holds.

import type {AuditEntry, AuditHead} from 'proto/admin_pb';
import {useRef, useState} from 'preact/hooks';
import {admin} from '../api/clients';
import {useLoad} from '../api/load';
import {count, delta, epsilon, hex} from '../parts/format';
import {Command, Facts, Remark, Section, State, type Tone} from '../parts/layout';
import {Loading} from '../parts/notice';
import {Pager, Table} from '../parts/table';
import {Name} from '../parts/text';
import {keyId, verifyHead, type SignatureState} from './audit_chain';
import {OperationsPage} from './frame';
import {Refused} from './refused';
import {VerifyAll} from './verify_all';

const SIZE = 50, REFRESH_MS = 15_000;

interface AuditPage {
  entries: AuditEntry[];
  head: AuditHead;
  /** How many entries were dropped. */
  dropped: number;
  signature: SignatureState;
  key: Uint8Array | null;
}

async function readPage(skipped: number, signal: AbortSignal): Promise<AuditPage> {
  const {head, sealed} = await admin.readAuditLog({first: 0n, maxEntries: 1}, {signal});
  if (head === undefined) throw new Error('The daemon answered without the head of the log.');
  const dropped = Number(sealed?.entries ?? 0n), end = Math.max(Number(head.entries) - skipped, dropped), first = Math.max(end - SIZE, dropped);
  const {entries} = end === first ? {entries: []} : await admin.readAuditLog({first: BigInt(first), maxEntries: end - first}, {signal});
  return {entries: entries.reverse(), head, dropped, signature: await verifyHead(head), key: head.signature === undefined ? null : await keyId(head.signature.key)};
}

const SIGNATURES: Record<SignatureState, {tone: Tone; says: string}> = {
  holds: {tone: 'good', says: 'the key beside has signed it'},
  broken: {tone: 'bad', says: 'somebody changed the log or its head'},
  absent: {tone: 'warn', says: 'the daemon sent no signature'},
  'cannot be verified here': {tone: 'quiet', says: 'this browser cannot verify Ed25519; coppice admin audit --verify can'},
};

function outcomeTone(outcome: string): Tone {
  return outcome === 'OK' ? 'good' : outcome === 'UNKNOWN' || outcome === 'DATA_LOSS' || outcome === 'INTERNAL' ? 'bad' : 'warn';
}

function Head({page}: {page: AuditPage}) {
  const {tone, says} = SIGNATURES[page.signature];
  return <Section title="Head of the log" aside="It stands for all entries before it">
    <Facts facts={[
      ['Entries', <>{count(page.head.entries)}{page.dropped > 0 && <small>{count(page.dropped)} of them dropped by age</small>}</>],
      ['Signature', <><State tone={tone}>{page.signature}</State><small>{says}</small></>],
      ['Key', page.key === null ? '–' : <code>{hex(page.key)}</code>],
    ]}/>
    <Command text={hex(page.head.hash)}/>
    <VerifyAll/>
    <Remark>Who can change the daemon can also change what it answers here. Have another machine keep the head, each day:
      {' '}<code>coppice admin audit --verify --head audit.head --curator-key curator.pem</code>.</Remark>
  </Section>;
}

export function Audit() {
  const [skipped, setSkipped] = useState(0);
  const loaded = useLoad(signal => readPage(skipped, signal), [skipped], {everyMs: skipped === 0 ? REFRESH_MS : 0});
  const before = useRef<AuditPage | undefined>(undefined);
  if (loaded.data !== undefined) before.current = loaded.data;
  const page = loaded.data ?? before.current;
  return <OperationsPage tab="audit" title="Audit log" lead="Every call that changed something, every charge and every start: who, what, on which day, and how it ended.">
    <Refused error={loaded.error} retry={loaded.reload} what="The audit log is"/>
    {page === undefined ? loaded.loading && <Loading/> : <>
      <div aria-busy={loaded.loading}><Table caption="Entries, newest first; days are UTC, and there is no time of day" rows={page.entries} rowKey={entry => String(entry.sequence)} columns={[
        {head: 'entry', number: true, cell: entry => count(entry.sequence)},
        {head: 'day', cell: entry => <span class="when"><Name text={entry.day} most={12}/></span>},
        {head: 'who', cell: entry => <Name text={entry.actor} most={28}/>},
        {head: 'did what', cell: entry => <Name text={entry.action} most={48}/>},
        {head: 'to what', cell: entry => entry.resource === '' ? 'the curator' : <><Name text={entry.resource} most={40}/>
          {entry.related !== '' && <small><Name text={entry.related} most={40}/></small>}</>},
        {head: 'ε', number: true, cell: entry => entry.epsilonNanos === 0n ? '' : <>{epsilon(entry.epsilonNanos)}{entry.deltaAtto > 0n && <small>δ {delta(entry.deltaAtto)}</small>}</>},
        {head: 'ended', cell: entry => <State tone={outcomeTone(entry.outcome)}><Name text={entry.outcome} most={24}/></State>},
        {head: 'hash', cell: entry => <code class="when" title={hex(entry.hash)}>{hex(entry.hash, 4)}</code>},
      ]} empty={<Remark>The log has no entry.</Remark>}/></div>
      <Pager first={skipped} size={SIZE} total={Number(page.head.entries) - page.dropped} onFirst={setSkipped} what="entries"/>
      <Head page={page}/></>}
  </OperationsPage>;
}
