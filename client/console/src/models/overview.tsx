// A model at a glance: what it predicts, what it cost, what its answers depend on, which endpoints serve it.

import {LeafKindSchema, type DescribeModelResponse, type Endpoint} from 'proto/model_pb';
import {models} from '../api/clients';
import {idOf} from '../api/ids';
import {useLoad} from '../api/load';
import {meaningOf} from '../parts/enums';
import {count, countOf, decimal, delta, epsilon, hex, plain} from '../parts/format';
import {Facts, Figures, Remark, Section, Sentences} from '../parts/layout';
import {Failure, Loading} from '../parts/notice';
import {Name, Names, visible} from '../parts/text';
import {href} from '../route';
import {BarTable} from './bars';
import {endpointHref, SourceLink} from './links';
import type {ModelProps} from './model';
import {answerKind, costNote, costText, createdText, mayBeNoise, neighbouringText, sizeOf, SURE_ERRORS} from './words';

export function ModelOverview({id, model, described}: ModelProps) {
  const {certificate, schema} = model, size = sizeOf(model), words = described.data;
  const depth = words === undefined ? undefined : words.minDepth === words.maxDepth ? `depth ${words.maxDepth}` : `depth ${words.minDepth} to ${words.maxDepth}`;
  return <>
    <Figures figures={[
      {name: 'Epsilon', value: epsilon(certificate?.epsilonNanos ?? 0n), note: costNote(model)},
      ...(certificate !== undefined && certificate.deltaAtto > 0n ? [{name: 'Delta', value: delta(certificate.deltaAtto), note: 'by how much that may fail'}] : []),
      {name: 'Predicts', value: <Name text={schema.label} most={24}/>, note: visible(answerKind(model))},
      {name: 'Trees', value: count(size?.trees ?? 0), note: depth},
      {name: 'Leaves', value: count(size?.leaves ?? 0), note: 'of all trees'},
      ...(certificate !== undefined && certificate.reports > 0n ? [{name: 'Reports', value: count(certificate.reports), note: countOf(certificate.publicRows, 'public row')}] : []),
    ]}/>
    <section aria-label="Guarantee"><p>Neighbouring: <Name text={neighbouringText(certificate)} most={200}/>. Within that, whoever sees the model or its answers can tell two cases apart by
      a factor of e<sup>ε</sup> at most{certificate !== undefined && certificate.deltaAtto > 0n ? ', but for delta' : ''}; the <a href={href('models', id, 'certificate')}>certificate</a> says what this means and what it does not cover.</p>
      {certificate?.relay !== undefined && <p>Towards a curator that does not collude with the relay: {costText(certificate.relay)}, on conditions that the certificate states. If the two collude, epsilon {epsilon(certificate.epsilonNanos)} is all there is.</p>}
      {certificate?.readers !== undefined && <p>Towards whoever sees only models that were built after the study was sealed: {costText(certificate.readers)}, on conditions that the certificate states.</p>}</section>
    <Section title="What its answers hang on">
      {words !== undefined ? <Importances described={words}/>
        : described.error !== null ? <Failure error={described.error} retry={described.reload}/> : <Loading/>}
    </Section>
    <Section title="What it is">
      <Facts facts={[
        ['Made by', <SourceLink model={model}/>],
        ['Created', createdText(model)],
        ['Estimator or algorithm', <Name text={certificate?.estimator ?? ''} most={60}/>],
        ['Mechanism', <Name text={certificate?.mechanism ?? ''} most={120}/>],
        schema.target === undefined && ['Classes', <Names texts={schema.classes} most={8}/>],
        schema.target !== undefined && ['Range of the answer', `${plain(schema.target.min)} to ${plain(schema.target.max)} ${visible(schema.target.unit)}`],
        ['Features', <>{count(schema.features.length)}: <Names texts={schema.features.map(feature => feature.name)} most={6}/></>],
        model.derived.length > 0 && ['Derived features', `${countOf(model.derived.length, 'signed sum')} of numeric features`],
        ['Leaves hold', meaningOf(LeafKindSchema, model.leafKind)],
        certificate !== undefined && certificate.fingerprint !== '' && ['Fingerprint of the study\'s terms', <code>{certificate.fingerprint.slice(0, 16)}…</code>],
        ['Signed by key', model.signature === undefined ? 'nobody' : <code>{hex(model.signature.key, 8)}</code>],
        certificate !== undefined && certificate.codeVersion !== '' && ['Version of the program', <Name text={certificate.codeVersion} most={30}/>],
      ]}/>
      {certificate !== undefined && certificate.publicInputs.length > 0 && <>
        <h3>Used without protection</h3><Sentences texts={certificate.publicInputs}/></>}
      {certificate !== undefined && certificate.diagnosis !== '' && <Remark>What the estimator found: <Name text={certificate.diagnosis} most={400}/></Remark>}
    </Section>
    <ServedBy name={model.name}/>
  </>;
}

function Importances({described: {importances}}: {described: DescribeModelResponse}) {
  if (importances.length === 0) return <Remark>No split of it decides anything: it answers every row alike.</Remark>;
  const unsure = importances.filter(mayBeNoise).length, unknown = importances.filter(each => each.standardError === undefined).length;
  return <>
    <BarTable caption="Importance of each feature, as its part of the whole, which is 1; the whisker is one standard error of the noise" heads={['feature', 'importance']}
      what="features" bars={importances.map(each => ({
        key: each.feature, name: <><Name text={each.feature} most={48}/>{mayBeNoise(each) && <span class="sure"> may be noise</span>}</>, value: each.importance, error: each.standardError ?? null,
        text: <>{decimal(each.importance)} <span class="sure">± {each.standardError === undefined ? '?' : decimal(each.standardError)}</span></>,
      }))}/>
    <Remark>{unsure > 0 && <>{unsure === importances.length ? 'All of them' : countOf(unsure, 'feature')} {unsure === 1 ? 'has' : 'have'} an importance
      of less than {SURE_ERRORS} standard errors: noise alone makes as much, so it may say nothing. </>}
      {unknown > 0 && 'Where there is no error, the noise of the leaves is not known. '}
      An importance follows from the leaves, not from rows: it costs no privacy.</Remark>
  </>;
}

async function endpointsOf(name: string, signal: AbortSignal): Promise<Endpoint[]> {
  const {endpoints} = await models.listEndpoints({pageSize: 1000}, {signal});
  return endpoints.filter(({versions}) => versions.at(-1)?.model === name);
}

function ServedBy({name}: {name: string}) {
  const served = useLoad(signal => endpointsOf(name, signal), [name]);
  if (served.data === undefined) return <Failure error={served.error} retry={served.reload}/>;
  return <Section title="Served by">
    {served.data.length === 0 ? <p>No endpoint answers with it. Programs can ask for it by its own name, <code>{visible(name)}</code>.</p>
      : <ul class="says">{served.data.map(endpoint => <li key={endpoint.name}>
        <a href={endpointHref(endpoint.name)}><Name text={idOf(endpoint.name)}/></a> answers with it, as version {count(endpoint.versions.at(-1)!.number)}.</li>)}</ul>}
  </Section>;
}
