// #/models: all models.

import {models} from '../api/clients';
import {delta, epsilon} from '../parts/format';
import {Empty, Page, Remark} from '../parts/layout';
import {Failure, Loading} from '../parts/notice';
import {PageButtons, Table, usePages} from '../parts/table';
import {Name} from '../parts/text';
import {href} from '../route';
import {ModelLink, MODELS, ModelsNav, SourceLink} from './links';
import {createdText, neighbouringText} from './words';

const REFRESH_MS = 15_000, PAGE_SIZE = 50;

export function ModelList() {
  const pages = usePages(async (pageToken, signal) => {
    const {models: items, nextPageToken} = await models.listModels({pageSize: PAGE_SIZE, pageToken}, {signal});
    return {items, nextPageToken};
  }, [], {everyMs: REFRESH_MS});
  const items = pages.data?.items;
  return <Page title="Models" lead="Forests built from a study's reports, or trained by a job on a dataset. To use a model costs no privacy.">
    <ModelsNav current={MODELS}/>
    <Failure error={pages.error} retry={pages.reload}/>
    {items === undefined ? pages.loading && <Loading/> : <>
      <Table caption="Models" quiet rows={items} rowKey={model => model.name} columns={[
        {head: 'model', cell: model => <ModelLink name={model.name}/>},
        {head: 'epsilon', number: true, cell: model => epsilon(model.certificate?.epsilonNanos ?? 0n)},
        {head: 'delta', number: true, cell: model => delta(model.certificate?.deltaAtto ?? 0n)},
        {head: 'neighbouring', cell: model => <Name text={neighbouringText(model.certificate)} most={60}/>},
        {head: 'made by', cell: model => <SourceLink model={model}/>},
        {head: 'estimator or algorithm', cell: model => <Name text={model.certificate?.estimator ?? ''} most={30}/>},
        {head: 'created', cell: model => <span class="when">{createdText(model)}</span>},
      ]} empty={<Empty title="There is no model yet" action={<a class="button" href={href('studies')}>Go to the studies</a>}
        command="coppice model build --study STUDY --model first">
        A study's page builds a model from its reports; a job on a dataset trains one.</Empty>}/>
      <PageButtons pages={pages} what="models"/>
      {items.length > 0 && <Remark>Epsilon is what the model cost each device by its one report (of a study), or each row of the dataset in all (of a job).
        The neighbouring relation says between which two cases it bounds the difference.</Remark>}
    </>}
  </Page>;
}
