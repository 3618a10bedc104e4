// The ledger of a dataset: every charge, newest first, who made it, and the whole ledger as a file or on paper.

import {LedgerEntryKind, LedgerEntryKindSchema, type Dataset, type LedgerEntry} from 'proto/dataset_pb';
import {useEffect, useRef, useState} from 'preact/hooks';
import {idOf} from '../api/ids';
import {useAction, useLoad} from '../api/load';
import {saveFile} from '../parts/document_frame';
import {meaningOf, wordOf} from '../parts/enums';
import {count, delta, epsilon, hex} from '../parts/format';
import {Command, Section, When} from '../parts/layout';
import {Failure, Loading, Progress} from '../parts/notice';
import {Pager, Table, type Column} from '../parts/table';
import {Name} from '../parts/text';
import {rho} from './budget';
import {LedgerCsv} from './ledger_csv';
import {readLedgerPage, readWholeLedger, type LedgerPage} from './ledger_pages';
import {ReleaseList} from './releases';
import {Spenders} from './spenders';
import {jobHref} from './where';
import {isConcentrated, knowsRho} from './words';

const SIZE = 50;

interface Numbered {
  entry: LedgerEntry;
  number: number;
}

function newestFirst({entries, first}: LedgerPage): Numbered[] {
  return entries.map((entry, i) => ({entry, number: first + i})).reverse();
}

// A refund shows what was charged, with a minus.
function signed(entry: LedgerEntry, text: string): string {
  return entry.kind === LedgerEntryKind.RETURNED && text !== '0' ? `−${text}` : text;
}

/** With `isPaper` everything that a click would open is open. */
function columnsOf(dataset: Dataset, isPaper: boolean): Column<Numbered>[] {
  const {cap} = dataset, isOpening = ({kind}: LedgerEntry) => kind === LedgerEntryKind.OPENED;
  const columns: Column<Numbered>[] = [
    {head: 'entry', number: true, cell: ({number}) => count(number)},
    {head: 'time', cell: ({entry}) => <When at={entry.unixSeconds} exact/>},
    {head: 'what', cell: ({entry}) => <span title={meaningOf(LedgerEntryKindSchema, entry.kind)}>{wordOf(LedgerEntryKindSchema, entry.kind)}</span>},
    {head: 'job', cell: ({entry}) => entry.job === '' ? '–' : entry.job.startsWith('evaluations/') ? <>evaluation <Name text={idOf(entry.job)} most={28}/></> : <a href={jobHref(idOf(entry.job))}><Name text={idOf(entry.job)} most={28}/></a>},
    {head: 'by', cell: ({entry}) => entry.submitter === '' ? '–' : <Name text={entry.submitter} most={24}/>},
    {head: 'ε', number: true, cell: ({entry}) => isOpening(entry) ? <>{epsilon(cap?.epsilonNanos ?? 0n)}<small>the cap</small></> : signed(entry, epsilon(entry.cost?.epsilonNanos ?? 0n))},
  ];
  if ((cap?.deltaAtto ?? 0n) > 0n) columns.push({head: 'δ', number: true, cell: ({entry}) => signed(entry, delta(isOpening(entry) ? cap!.deltaAtto : entry.cost?.deltaAtto ?? 0n))});
  if (isConcentrated(dataset)) columns.push({head: 'ρ', number: true, cell: ({entry}) => knowsRho(entry.cost) ? signed(entry, rho(entry.cost!.rhoPico)) : '–'});
  columns.push({head: 'releases', cell: ({entry}) => <ReleaseList releases={entry.releases} isPlan={entry.kind === LedgerEntryKind.RESERVED}
    isOpen={isPaper && entry.kind === LedgerEntryKind.SETTLED}/>},
    {head: 'hash', cell: ({entry}) => entry.hash.length === 0 ? '–' : <code class="when" title={hex(entry.hash)}>{hex(entry.hash, 4)}</code>});
  return columns;
}

/** Reads the whole ledger for a file, or for paper. */
function WholeLedger({dataset, onPrint}: {dataset: Dataset; onPrint: (entries: Numbered[]) => void}) {
  const [share, setShare] = useState(0);
  const id = idOf(dataset.name);
  const save = useAction(async signal => {
    const csv = new LedgerCsv(dataset);
    await readWholeLedger(dataset.name, signal, (entries, done) => { csv.add(entries); setShare(done); });
    saveFile(`${id}-ledger.csv`, new Blob(csv.parts, {type: 'text/csv'}));
  });
  const print = useAction(async signal => {
    const all: LedgerEntry[] = [];
    await readWholeLedger(dataset.name, signal, (entries, done) => { all.push(...entries); setShare(done); });
    onPrint(all.map((entry, number) => ({entry, number})));
  });
  const isRunning = save.running || print.running;
  return <>
    <div class="actions">
      <button type="button" class="small" disabled={isRunning} onClick={() => void save.run()}>Save as CSV</button>
      <button type="button" class="small" disabled={isRunning} onClick={() => void print.run()}>Print all of it</button>
    </div>
    {isRunning && <Progress label="Reading the ledger" share={share}/>}
    <Failure error={save.error ?? print.error}/>
  </>;
}

/** The page of entries that begins `skipped` entries before the end; the last page until the next one is there. */
function usePage(dataset: Dataset, total: number, skipped: number) {
  const {name} = dataset;
  const end = Math.max(0, total - skipped), first = Math.max(0, end - SIZE);
  const loaded = useLoad(signal => end === first ? Promise.resolve({entries: [], first, total, dataset}) : readLedgerPage(name, first, end - first, signal), [name, first, end]);
  const before = useRef<LedgerPage | undefined>(undefined);
  if (loaded.data !== undefined) before.current = loaded.data;
  return {...loaded, data: loaded.data ?? before.current};
}

export function Ledger({dataset, total}: {dataset: Dataset; total: number}) {
  const [skipped, setSkipped] = useState(0);
  const [printed, setPrinted] = useState<Numbered[] | null>(null);
  const page = usePage(dataset, total, skipped);
  useEffect(() => {
    if (printed === null) return;
    const done = () => setPrinted(null);
    window.addEventListener('afterprint', done, {once: true});
    window.print();
    return () => window.removeEventListener('afterprint', done);
  }, [printed]);
  const head = skipped === 0 ? page.data?.entries.at(-1)?.hash : undefined;
  return <>
    <Spenders dataset={dataset} total={total}/>
    <Section title="Ledger" aside="Every charge, with all that was released for it">
      <Failure error={page.error} retry={page.reload}/>
      {page.data === undefined ? page.loading && <Loading/> : <div aria-busy={page.loading}>
        <Table caption={printed === null ? 'Entries of the ledger, newest first' : 'All entries of the ledger, oldest first'} quiet={printed === null}
          rows={printed ?? newestFirst(page.data)} rowKey={({number}) => number} columns={columnsOf(dataset, printed !== null)}/>
      </div>}
      <Pager first={skipped} size={SIZE} total={total} onFirst={setSkipped} what="entries"/>
      <WholeLedger dataset={dataset} onPrint={setPrinted}/>
      {head !== undefined && head.length > 0 && <>
        <h3>Head to note</h3>
        <p>This hash stands for all entries. Note it after each job, away from the store and its backups: after a restore it proves that no charge is missing.</p>
        <Command text={hex(head)}/></>}
    </Section>
  </>;
}
