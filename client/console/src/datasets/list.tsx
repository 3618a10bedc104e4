// #/datasets: all datasets that the caller may see.

import {DatasetStateSchema, type Dataset} from 'proto/dataset_pb';
import {datasets} from '../api/clients';
import {idOf} from '../api/ids';
import {wordOf} from '../parts/enums';
import {count, epsilon} from '../parts/format';
import {Empty, Page, State, When} from '../parts/layout';
import {Failure, Loading} from '../parts/notice';
import {PageButtons, Table, usePages} from '../parts/table';
import {Name} from '../parts/text';
import {href} from '../route';
import {datasetHref} from './where';
import {isConcentrated, isHeld, neighboursOf, toneOf} from './words';

const REFRESH_MS = 10_000;
const NEW = <a class="button primary" href={href('datasets', 'new')}>New dataset</a>;
const ACTIONS = <><a class="button" href={href('datasets', 'jobs')}>All jobs</a><a class="button" href={href('datasets', 'curve')}>What an epsilon buys</a>{NEW}</>;

function StateOf({dataset}: {dataset: Dataset}) {
  if (isHeld(dataset)) return <State tone="warn">on hold</State>;
  return <State tone={toneOf(dataset.state)}>{wordOf(DatasetStateSchema, dataset.state)}</State>;
}

function Left({dataset}: {dataset: Dataset}) {
  return <>{epsilon(dataset.epsilonLeftNanos)}{isConcentrated(dataset) && <small>one release without δ</small>}</>;
}

export function DatasetList() {
  const pages = usePages(async (pageToken, signal) => {
    const {datasets: items, nextPageToken} = await datasets.listDatasets({pageSize: 50, pageToken}, {signal});
    return {items, nextPageToken};
  }, [], {everyMs: REFRESH_MS});
  const items = pages.data?.items;
  return <Page title="Datasets" actions={ACTIONS}
    lead="A dataset holds rows that their owner trusts the curator with. Each job spends a part of its privacy budget, for good.">
    <Failure error={pages.error} retry={pages.reload}/>
    {items === undefined ? pages.loading && <Loading/> : <>
      <Table caption="Datasets" quiet rows={items} rowKey={dataset => dataset.name} columns={[
        {head: 'dataset', cell: dataset => <a href={datasetHref(idOf(dataset.name))}><Name text={idOf(dataset.name)} most={28}/></a>},
        {head: 'state', cell: dataset => <StateOf dataset={dataset}/>},
        {head: 'ε left', number: true, cell: dataset => <Left dataset={dataset}/>},
        {head: 'ε in all', number: true, cell: dataset => epsilon(dataset.cap?.epsilonNanos ?? 0n)},
        {head: 'neighbours differ in', cell: dataset => neighboursOf(dataset)},
        {head: 'rows', number: true, cell: dataset => dataset.rowsHidden ? 'hidden' : count(dataset.rows)},
        {head: 'owner', cell: dataset => dataset.owner === '' ? '–' : <Name text={dataset.owner} most={24}/>},
        {head: 'created', cell: dataset => <When at={dataset.createdUnixSeconds}/>},
      ]} empty={<Empty title="There is no dataset that you may see" action={NEW}
        command="coppice dataset create --data private.csv --schema schema.json --epsilon-total 4">
        A dataset is made from a schema, a budget and rows. Then jobs train models on it, and each says first what it costs.</Empty>}/>
      <PageButtons pages={pages} what="datasets"/>
    </>}
  </Page>;
}
