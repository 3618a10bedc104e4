// #/models/-/endpoints: all endpoints.

import {useState} from 'preact/hooks';
import {models} from '../api/clients';
import {idOf} from '../api/ids';
import {count} from '../parts/format';
import {Empty, Page, When} from '../parts/layout';
import {Failure, Loading} from '../parts/notice';
import {PageButtons, Table, usePages} from '../parts/table';
import {Name} from '../parts/text';
import {go} from '../route';
import {endpointHref, ENDPOINTS, ModelLink, ModelsNav} from './links';
import {ServeDialog} from './serve';

const REFRESH_MS = 15_000, PAGE_SIZE = 50;

export function EndpointList() {
  const [asked, setAsked] = useState(false);
  const pages = usePages(async (pageToken, signal) => {
    const {endpoints: items, nextPageToken} = await models.listEndpoints({pageSize: PAGE_SIZE, pageToken}, {signal});
    return {items, nextPageToken};
  }, [], {everyMs: REFRESH_MS});
  const items = pages.data?.items;
  const create = <button type="button" class="primary" onClick={() => setAsked(true)}>New endpoint</button>;
  return <Page title="Endpoints" actions={items !== undefined && items.length > 0 && create}
    lead="An endpoint is a name that answers with one model at a time, so that programs need not know which.">
    <ModelsNav current={ENDPOINTS}/>
    <Failure error={pages.error} retry={pages.reload}/>
    {items === undefined ? pages.loading && <Loading/> : <>
      <Table caption="Endpoints" quiet rows={items} rowKey={endpoint => endpoint.name} columns={[
        {head: 'endpoint', cell: endpoint => <a href={endpointHref(endpoint.name)}><Name text={idOf(endpoint.name)}/></a>},
        {head: 'answers with', cell: ({versions}) => versions.length === 0 ? '–' : <ModelLink name={versions.at(-1)!.model}/>},
        {head: 'version', number: true, cell: ({versions}) => count(versions.at(-1)?.number ?? 0n)},
        {head: 'since', cell: ({versions}) => <When at={versions.at(-1)?.createdUnixSeconds ?? 0n}/>},
        {head: 'by', cell: ({versions}) => versions.at(-1)?.restoredVersion ? `rollback to ${count(versions.at(-1)!.restoredVersion)}` : 'set'},
        {head: 'owner', cell: ({owner}) => owner === '' ? '–' : <Name text={owner} most={30}/>},
      ]} empty={<Empty title="There is no endpoint yet" action={create} command="coppice endpoint set --endpoint first --model MODEL">
        An endpoint serves a model under a name of its own; it is switched to another model at once, and rolled back.</Empty>}/>
      <PageButtons pages={pages} what="endpoints"/>
    </>}
    {asked && <ServeDialog onClose={() => setAsked(false)} onServed={id => go('models', '-', 'endpoints', id)}/>}
  </Page>;
}
