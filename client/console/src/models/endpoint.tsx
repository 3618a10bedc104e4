// #/models/-/endpoints/ID: one endpoint, its versions, and how to change what it serves.

import {useState} from 'preact/hooks';
import type {Endpoint, EndpointVersion} from 'proto/model_pb';
import {models} from '../api/clients';
import {isNotFound} from '../api/errors';
import {idOf} from '../api/ids';
import {useAction, useLoad, type Loaded} from '../api/load';
import {CheckField} from '../parts/field';
import {count, duration} from '../parts/format';
import {Empty, Figures, Page, Remark, Section, State, When} from '../parts/layout';
import {Confirm, Failure, Loading} from '../parts/notice';
import {Pager, Table} from '../parts/table';
import {Name, visible} from '../parts/text';
import {href} from '../route';
import {ENDPOINTS, ModelLink} from './links';
import {ServeDialog} from './serve';

const REFRESH_MS = 15_000, PAGE_SIZE = 20;

interface EndpointProps {
  id: string;
  endpoint: Endpoint;
  served: EndpointVersion;
  loaded: Loaded<Endpoint>;
}

async function loadEndpoint(name: string, signal: AbortSignal): Promise<Endpoint> {
  const {endpoint} = await models.getEndpoint({name}, {signal});
  if (endpoint === undefined || endpoint.versions.length === 0) throw new Error('The daemon answered without the endpoint, or without its versions.');
  return endpoint;
}

export function EndpointPage({id}: {id: string}) {
  const name = `endpoints/${id}`;
  const loaded = useLoad(signal => loadEndpoint(name, signal), [name], {everyMs: REFRESH_MS});
  const endpoint = loaded.data, served = endpoint?.versions.at(-1);
  if (endpoint === undefined || served === undefined) {
    return <Page title={id} kind="Endpoint" kindHref={ENDPOINTS}>
      {isNotFound(loaded.error) ? <Empty title="There is no endpoint of this name" action={<a class="button" href={ENDPOINTS}>All endpoints</a>}>
        It may have been deleted, or you may not see it.</Empty>
        : loaded.error !== null ? <Failure error={loaded.error} retry={loaded.reload}/> : <Loading/>}
    </Page>;
  }
  const props: EndpointProps = {id, endpoint, served, loaded};
  return <Page title={id} kind="Endpoint" kindHref={ENDPOINTS} actions={<EndpointActs {...props}/>}
    lead={<>Answers with <ModelLink name={served.model}/>. Programs ask for <code>{visible(name)}</code>.</>}>
    <Failure error={loaded.error} retry={loaded.reload}/>
    <Figures figures={[
      {name: 'Version', value: count(served.number), note: served.restoredVersion > 0n ? `a rollback to version ${count(served.restoredVersion)}` : 'the model was set'},
      {name: 'Model', value: <Name text={idOf(served.model)} most={30}/>, note: 'answers all calls'},
      {name: 'Since', value: <When at={served.createdUnixSeconds}/>, note: <When at={served.createdUnixSeconds} exact/>},
      {name: 'Owner', value: endpoint.owner === '' ? '–' : <Name text={endpoint.owner} most={30}/>, note: endpoint.owner === '' ? 'made without a policy' : ''},
    ]}/>
    <Versions {...props}/>
  </Page>;
}

function Versions({id, endpoint: {versions}, served, loaded}: EndpointProps) {
  const [first, setFirst] = useState(0);
  const [back, setBack] = useState<EndpointVersion | null>(null);
  const newest = [...versions].reverse(), begin = first < newest.length ? first : 0;
  const endOf = (index: number) => index === 0 ? Math.floor(Date.now() / 1000) : Number(newest[index - 1]!.createdUnixSeconds);
  return <Section title="Versions" aside={versions.length >= 100 ? 'the newest 100' : undefined}>
    <Table caption="What it answered with, the newest first" quiet rows={newest.slice(begin, begin + PAGE_SIZE)} rowKey={({number}) => String(number)} columns={[
      {head: 'version', number: false, cell: ({number}) => count(number)},
      {head: 'model', cell: ({model}) => <ModelLink name={model}/>},
      {head: 'state', cell: ({number}) => number === served.number ? <State tone="good">serves</State> : <State tone="quiet">replaced</State>},
      {head: 'began', cell: ({createdUnixSeconds}) => <When at={createdUnixSeconds} exact/>},
      {head: 'served for', cell: ({createdUnixSeconds}, i) => duration(endOf(begin + i) - Number(createdUnixSeconds))},
      {head: 'by', cell: ({restoredVersion}) => restoredVersion > 0n ? `rollback to version ${count(restoredVersion)}` : 'set'},
      {head: 'do', cell: version => version.number === served.number ? '' : <span class="actions">
        {version.model !== served.model && <a class="button small" href={href('models', '-', 'compare', idOf(version.model), idOf(served.model))}>Compare</a>}
        <button type="button" class="small" aria-label={`Roll back to version ${version.number}`} onClick={() => setBack(version)}>Roll back …</button></span>},
    ]}/>
    <Pager first={begin} size={PAGE_SIZE} total={newest.length} onFirst={setFirst} what="versions"/>
    <Remark>A rollback is a new version that answers with the model of an old one. Models that an endpoint served before may be deleted; then there is no way back to them.</Remark>
    {back !== null && <RollBack id={id} to={back} served={served} onClose={() => setBack(null)} onDone={endpoint => { setBack(null); loaded.replace(endpoint); }}/>}
  </Section>;
}

function RollBack({id, to, served, onClose, onDone}: {
  id: string; to: EndpointVersion; served: EndpointVersion; onClose: () => void; onDone: (endpoint: Endpoint) => void;
}) {
  const [allows, setAllows] = useState(false);
  const roll = useAction(async signal => {
    const {endpoint} = await models.rollBack({endpoint: `endpoints/${id}`, toVersion: to.number, expectedVersion: served.number, allowSchemaChange: allows}, {signal});
    if (endpoint === undefined) throw new Error('The daemon answered without the endpoint: load the page again.');
    onDone(endpoint);
  });
  return <Confirm title={`Roll back to version ${to.number}?`} action="Roll back" danger running={roll.running} error={roll.error} onConfirm={() => void roll.run()} onClose={onClose}>
    <p>From then on the endpoint answers with <Name text={idOf(to.model)}/> instead of <Name text={idOf(served.model)}/>, as a new version. It costs no privacy.
      If somebody changes the endpoint before you do, nothing happens.</p>
    <CheckField label="The model may have another schema" hint="Without this, a model with other features or classes than the one that is served is refused."
      checked={allows} onChecked={setAllows}/>
  </Confirm>;
}

function EndpointActs({id, endpoint, loaded}: EndpointProps) {
  const [asked, setAsked] = useState<'serve' | 'delete' | null>(null);
  const remove = useAction(async signal => {
    await models.deleteEndpoint({name: endpoint.name}, {signal});
    location.hash = ENDPOINTS;
  });
  return <>
    <button type="button" onClick={() => setAsked('serve')}>Serve another model …</button>
    <button type="button" class="danger" onClick={() => { remove.clear(); setAsked('delete'); }}>Delete …</button>
    {asked === 'serve' && <ServeDialog endpoint={id} onClose={() => setAsked(null)} onServed={() => { setAsked(null); loaded.reload(); }}/>}
    {asked === 'delete' && <Confirm title="Delete this endpoint?" action="Delete the endpoint" danger typed={id} running={remove.running} error={remove.error}
      onConfirm={() => void remove.run()} onClose={() => setAsked(null)}>
      <p>Whoever asks for it gets an error from then on, and its list of versions is gone. Its models stay.</p>
    </Confirm>}
  </>;
}
