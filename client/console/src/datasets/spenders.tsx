// Who spent what: a ledger added up by who submitted the jobs.

import type {Dataset} from 'proto/dataset_pb';
import {useState} from 'preact/hooks';
import {useLoad} from '../api/load';
import {count, delta, epsilon} from '../parts/format';
import {Remark, Section} from '../parts/layout';
import {Failure, Progress} from '../parts/notice';
import {Table, type Column} from '../parts/table';
import {Name} from '../parts/text';
import {rho, SpenderSums, type SpenderSum} from './budget';
import {readWholeLedger} from './ledger_pages';
import {isConcentrated} from './words';

const MOST_UNASKED = 1000;

function columnsOf(dataset: Dataset): Column<SpenderSum>[] {
  const spent: Column<SpenderSum>[] = isConcentrated(dataset) ? [{head: 'ρ spent', number: true, cell: sum => rho(sum.spent.rhoPico)}] : [
    {head: 'ε spent', number: true, cell: sum => epsilon(sum.spent.epsilonNanos)},
    ...((dataset.cap?.deltaAtto ?? 0n) > 0n ? [{head: 'δ spent', number: true, cell: (sum: SpenderSum) => delta(sum.spent.deltaAtto)}] : []),
  ];
  return [
    {head: 'who', cell: ({submitter, kind}) => kind === 'written off' ? 'written off by an admin' : submitter === '' ? 'not known: no policy, or long ago' : <Name text={submitter}/>},
    {head: 'jobs charged', number: true, cell: ({kind, jobs}) => kind === 'written off' ? '–' : count(jobs)},
    {head: 'given back', number: true, cell: ({kind, returned}) => kind === 'written off' ? '–' : count(returned)},
    ...spent,
  ];
}

/** The sums, and whether they come to what the account says. */
function sumOf(sums: readonly SpenderSum[], dataset: Dataset): string {
  const total = sums.reduce((all, {spent}) => all + (isConcentrated(dataset) ? spent.rhoPico : spent.epsilonNanos), 0n);
  const account = isConcentrated(dataset) ? dataset.spent?.rhoPico ?? 0n : dataset.spent?.epsilonNanos ?? 0n;
  const [name, text] = isConcentrated(dataset) ? ['ρ', rho] as const : ['ε', epsilon] as const;
  if (total === account) return `Together ${name} ${text(total)}, which is what the account says.`;
  return `Together ${name} ${text(total)}; the account says ${name} ${text(account)}. Load the page again: if they still differ, run coppiced check.`;
}

function Sums({dataset, total}: {dataset: Dataset; total: number}) {
  const [share, setShare] = useState(0);
  const loaded = useLoad(async signal => {
    const sums = new SpenderSums();
    await readWholeLedger(dataset.name, signal, (entries, done) => { entries.forEach(entry => sums.add(entry)); setShare(done); });
    // Of the same moment as the ledger, or the two would differ while jobs run.
    return {sums: sums.sorted(), dataset, entries: sums.entries};
  }, [dataset.name, total]);
  const [before, setBefore] = useState(loaded.data);
  if (loaded.data !== undefined && loaded.data !== before) setBefore(loaded.data);
  const shown = loaded.data ?? before;
  if (shown === undefined) return <><Failure error={loaded.error} retry={loaded.reload}/>{loaded.loading && <Progress label="Adding up the ledger" share={share}/>}</>;
  if (shown.sums.length === 0) return <Remark>Nothing was spent yet.</Remark>;
  return <>
    <Failure error={loaded.error} retry={loaded.reload}/>
    <Table caption="By who submitted the jobs; given back: cancelled before they began" rows={shown.sums} rowKey={sum => `${sum.kind}/${sum.submitter}`} columns={columnsOf(dataset)}/>
    {shown.entries === total && <Remark>{sumOf(shown.sums, shown.dataset)}</Remark>}
  </>;
}

/** Added up at once if the ledger is short, else when asked. */
export function Spenders({dataset, total}: {dataset: Dataset; total: number}) {
  const [isAsked, setAsked] = useState(false);
  return <Section title="Who spent it">
    {isAsked || total <= MOST_UNASKED ? <Sums dataset={dataset} total={total}/>
      : <p><button type="button" class="small" onClick={() => setAsked(true)}>Add up {count(total)} entries</button></p>}
  </Section>;
}
