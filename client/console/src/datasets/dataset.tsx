// #/datasets/ID: what a dataset protects, what is left of its budget, and who spent what on what.

import {CompositionSchema, DatasetState, DatasetStateSchema, type Dataset} from 'proto/dataset_pb';
import type {ComponentChildren} from 'preact';
import {datasets} from '../api/clients';
import {isNotFound} from '../api/errors';
import {useLoad} from '../api/load';
import {meaningOf, wordOf} from '../parts/enums';
import {count, countOf, decimal, delta, epsilon} from '../parts/format';
import {Facts, Figures, Page, Remark, Section, Sentences, State, When, type Figure} from '../parts/layout';
import {Failure, Loading, Notice} from '../parts/notice';
import {Name} from '../parts/text';
import {href} from '../route';
import {BudgetBar} from './budget_bar';
import {percentSpent, shortRho} from './budget';
import {DeleteDataset} from './delete_dataset';
import {HoldNotice} from './hold';
import {JobTable} from './job_table';
import {Ledger} from './ledger';
import {ledgerLength} from './ledger_pages';
import {SchemaTable} from './schema_table';
import {datasetHref} from './where';
import {hasReserve, isConcentrated, isHeld, knowsRho, neighboursOf, protectedBy, toneOf} from './words';

const REFRESH_MS = 5000;

// Every digit of a budget counts, so long ones are set smaller.
function long(text: string): ComponentChildren {
  return text.length > 9 ? <small>{text}</small> : text;
}

function figuresOf(dataset: Dataset): Figure[] {
  const {cap, spent} = dataset, total = cap?.epsilonNanos ?? 0n, spentNanos = spent?.epsilonNanos ?? 0n;
  const figures: Figure[] = [{name: 'ε left', value: long(epsilon(dataset.epsilonLeftNanos)), note: isConcentrated(dataset) ? 'for one more release without δ' : `of ${epsilon(total)}`}];
  if (isConcentrated(dataset)) {
    figures.push({name: 'ε left with δ', value: long(epsilon(dataset.epsilonLeftAtDeltaNanos)), note: 'for one more job with all of the cap\'s δ'},
      {name: 'ρ spent', value: long(knowsRho(spent) ? shortRho(spent!.rhoPico) : '0'), note: 'what adds up'},
      {name: 'ε in all', value: epsilon(total), note: `at δ ${delta(cap?.deltaAtto ?? 0n)}`});
  } else {
    figures.push({name: 'ε spent', value: long(epsilon(spentNanos)), note: `${percentSpent(spentNanos, total)} of ${epsilon(total)}`});
    if ((cap?.deltaAtto ?? 0n) > 0n) figures.push({name: 'δ in all', value: delta(cap!.deltaAtto), note: `${delta(spent?.deltaAtto ?? 0n)} spent`});
  }
  if (hasReserve(dataset)) {
    const reserve = dataset.reserveSpent?.epsilonNanos ?? 0n;
    figures.push({name: 'ε left for the reserve', value: long(epsilon(dataset.reserveEpsilonLeftNanos)), note: `ε ${epsilon(reserve)} spent on evaluations`});
  }
  figures.push({name: 'Rows', value: dataset.rowsHidden ? 'hidden' : count(dataset.rows), note: dataset.rowsHidden ? 'they are the owner\'s to see' : 'not to be published'});
  return figures;
}

function guaranteeOf(dataset: Dataset): string[] {
  const {cap} = dataset, total = epsilon(cap?.epsilonNanos ?? 0n), atDelta = (cap?.deltaAtto ?? 0n) > 0n ? ` and δ ${delta(cap!.deltaAtto)}` : '';
  return [
    `All that is ever released of it satisfies differential privacy with ε ${total}${atDelta} in all. Neighbouring tables differ in: ${neighboursOf(dataset)}.`,
    `${meaningOf(CompositionSchema, cap?.composition ?? 0)} The cap, the relation and the composition never change.`,
    ...(hasReserve(dataset) ? [`A coin put about ${decimal((cap?.reserveMillionths ?? 0) / 1e4, 1)} % of the rows into a reserve, which evaluations alone read. Its account and that of training are each at most the cap, and no row pays both.`] : []),
  ];
}

function Actions({dataset, id}: {dataset: Dataset; id: string}) {
  if (dataset.state === DatasetState.UPLOADING) return <a class="button primary" href={datasetHref(id, 'upload')}>Upload rows</a>;
  if (dataset.state !== DatasetState.READY || isHeld(dataset)) return null;
  return <><a class="button primary" href={datasetHref(id, 'train')}>Train a model</a> <a class="button" href={datasetHref(id, 'evaluate')}>Evaluate a model</a></>;
}

function Shown({dataset, id, reload, replace}: {dataset: Dataset; id: string; reload: () => void; replace: (dataset: Dataset) => void}) {
  return <>
    {isHeld(dataset) && <HoldNotice dataset={dataset} onChange={replace}/>}
    {dataset.state === DatasetState.UPLOADING && <Notice kind="info" title="The upload has not ended"
      action={<a class="button small" href={datasetHref(id, 'upload')}>{dataset.rows > 0n ? 'Go on with the upload' : 'Upload rows'}</a>}>
      <p>{countOf(dataset.rows, 'row')} {dataset.rows === 1n ? 'is' : 'are'} on the curator's disk. Jobs can be submitted when the upload has ended.</p></Notice>}
    <Figures figures={figuresOf(dataset)}/>
    <BudgetBar dataset={dataset}/>
    <div class="columns">
      <Section title="What is guaranteed"><Sentences texts={guaranteeOf(dataset)}/></Section>
      <Section title="About it"><Facts facts={[
        ['State', <><State tone={toneOf(dataset.state)}>{wordOf(DatasetStateSchema, dataset.state)}</State><br/><small>{meaningOf(DatasetStateSchema, dataset.state)}</small></>],
        ['Owner', dataset.owner === '' ? 'nobody: the operator\'s alone' : <Name text={dataset.owner} most={80}/>],
        ['Created', <When at={dataset.createdUnixSeconds} exact/>],
        dataset.publicRows > 0n && ['Public rows', <>{count(dataset.publicRows)}, which nothing protects: SHA-256 <code>{dataset.publicRowsSha256}</code></>],
        ['Composition', wordOf(CompositionSchema, dataset.cap?.composition ?? 0)],
      ]}/></Section>
    </div>
    <Section title="Jobs" {...(dataset.state === DatasetState.READY && !isHeld(dataset) ? {aside: <a href={datasetHref(id, 'train')}>Train another</a>} : {})}>
      <JobTable dataset={dataset.name}/></Section>
    {dataset.rowsHidden ? <Section title="Ledger"><Remark>The ledger is the owner's{dataset.owner !== '' && <>, <Name text={dataset.owner}/></>}, and the operator's to read.</Remark></Section>
      : <Ledger dataset={dataset} total={ledgerLength(dataset)}/>}
    <details class="more"><summary>What a row looks like</summary><SchemaTable schema={dataset.schema}/></details>
    {dataset.state !== DatasetState.DELETED && <DeleteDataset dataset={dataset} onDeleted={reload}/>}
  </>;
}

export function DatasetPage({id}: {id: string}) {
  const loaded = useLoad(async signal => {
    const {dataset} = await datasets.getDataset({name: `datasets/${id}`, maxEntries: 1}, {signal});
    if (dataset === undefined) throw new Error('The daemon answered without the dataset.');
    return dataset;
  }, [id], {everyMs: REFRESH_MS});
  const dataset = loaded.data;
  // The answer to a change lacks the ledger's length.
  const replace = (changed: Dataset) => { loaded.replace({...changed, ledgerEntries: BigInt(dataset === undefined ? 0 : ledgerLength(dataset))}); loaded.reload(); };
  return <Page title={id} kind="Dataset" kindHref={href('datasets')} lead={dataset && protectedBy(dataset)}
    actions={dataset && <Actions dataset={dataset} id={id}/>}>
    <Failure error={loaded.error} retry={loaded.reload}/>
    {isNotFound(loaded.error) && dataset === undefined && <Remark>A dataset shows to its owner, to those whom the policy lets see it, and to the operator. Others read that there is none.</Remark>}
    {dataset === undefined ? loaded.loading && <Loading/> : <Shown dataset={dataset} id={id} reload={loaded.reload} replace={replace}/>}
  </Page>;
}
