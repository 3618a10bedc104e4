// Who spent what: a ledger added up per submitter of jobs.

import type {Dataset} from 'proto/dataset_pb';
import {useState} from 'preact/hooks';
import {useLoad} from '../api/load';
import {count, countOf, delta, epsilon} from '../parts/format';
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
    {head: 'refunded', number: true, cell: ({kind, returned}) => kind === 'written off' ? '–' : count(returned)},
    ...spent,
  ];
}

/** The sums, and whether they match the account. */
function sumOf(sums: readonly SpenderSum[], dataset: Dataset): string {
  const total = sums.reduce((all, {spent}) => all + (isConcentrated(dataset) ? spent.rhoPico : spent.epsilonNanos), 0n);
  const account = isConcentrated(dataset) ? dataset.spent?.rhoPico ?? 0n : dataset.spent?.epsilonNanos ?? 0n;
  const [name, text] = isConcentrated(dataset) ? ['ρ', rho] as const : ['ε', epsilon] as const;
  if (total === account) return `Together ${name} ${text(total)}, which is what the account says.`;
  return `Together ${name} ${text(total)}; the account says ${name} ${text(account)}. They must be equal: have the operator run coppiced check.`;
}

function Sums({dataset, total}: {dataset: Dataset; total: number}) {
  const [share, setShare] = useState(0);
  const loaded = useLoad(async signal => {
    const sums = new SpenderSums();
    const account = await readWholeLedger(dataset.name, signal, (entries, done) => { entries.forEach(entry => sums.add(entry)); setShare(done); });
    return {sums: sums.sorted(), account};
  }, [dataset.name, total]);
  const [before, setBefore] = useState(loaded.data);
  if (loaded.data !== undefined && loaded.data !== before) setBefore(loaded.data);
  const shown = loaded.data ?? before;
  if (shown === undefined) return <><Failure error={loaded.error} retry={loaded.reload}/>{loaded.loading && <Progress label="Adding up the ledger" share={share}/>}</>;
  if (shown.sums.length === 0) return <Remark>Nothing was spent yet.</Remark>;
  return <>
    <Failure error={loaded.error} retry={loaded.reload}/>
    <Table caption="By who submitted the jobs; refunded: cancelled before they began" rows={shown.sums} rowKey={sum => `${sum.kind}/${sum.submitter}`} columns={columnsOf(dataset)}/>
    <Remark>{sumOf(shown.sums, shown.account)}</Remark>
  </>;
}

/** Adds up a short ledger at once, and again at each entry; a long one when asked. */
export function Spenders({dataset, total}: {dataset: Dataset; total: number}) {
  const [asked, setAsked] = useState(0);
  const summed = total <= MOST_UNASKED ? total : asked;
  return <Section title="Who spent it">
    {summed > 0 && <Sums dataset={dataset} total={summed}/>}
    {summed < total && <p><button type="button" class="small" onClick={() => setAsked(total)}>
      {summed === 0 ? `Add up ${countOf(total, 'entry', 'entries')}` : `Add up ${countOf(total - summed, 'entry', 'entries')} more`}</button></p>}
  </Section>;
}
