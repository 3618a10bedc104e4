// #/models/-/compare/A/B: two models next to each other.

import type {ComponentChildren} from 'preact';
import type {DescribeModelResponse, Model} from 'proto/model_pb';
import {models} from '../api/clients';
import {isUnimplemented} from '../api/errors';
import {useLoad} from '../api/load';
import {count, decimal, delta, epsilon} from '../parts/format';
import {Page, Remark} from '../parts/layout';
import {Failure, Loading} from '../parts/notice';
import {Table} from '../parts/table';
import {Name, visible} from '../parts/text';
import {MODELS, ModelLink, SourceLink} from './links';
import {answerKind, costNote, createdText, neighbouringText, sizeOf} from './words';

const FEATURES_SHOWN = 10;

interface Side {
  model: Model;
  /** Null if the daemon does not describe models. */
  described: DescribeModelResponse | null;
}

async function loadSide(id: string, signal: AbortSignal): Promise<Side> {
  const name = `models/${id}`;
  const [{model}, described] = await Promise.all([models.getModel({name}, {signal}), models.describeModel({name}, {signal}).catch(error => {
    if (isUnimplemented(error)) return null;
    throw error;
  })]);
  if (model === undefined) throw new Error('The daemon answered without a model.');
  return {model, described};
}

type Row = readonly [string, (side: Side) => ComponentChildren];

const ROWS: readonly Row[] = [
  ['made by', ({model}) => <SourceLink model={model}/>],
  ['created', ({model}) => createdText(model)],
  ['estimator or algorithm', ({model}) => <Name text={model.certificate?.estimator ?? ''} most={40}/>],
  ['epsilon', ({model}) => <>{epsilon(model.certificate?.epsilonNanos ?? 0n)} <span class="sure">{costNote(model)}</span></>],
  ['delta', ({model}) => delta(model.certificate?.deltaAtto ?? 0n)],
  ['neighbouring', ({model}) => <Name text={neighbouringText(model.certificate)} most={80}/>],
  ['predicts', ({model}) => <><Name text={model.schema?.label ?? ''} most={40}/> <span class="sure">{visible(answerKind(model))}</span></>],
  ['features', ({model}) => count(model.schema?.features.length ?? 0)],
  ['reports', ({model}) => model.study === '' ? '–' : count(model.certificate?.reports ?? 0n)],
  ['trees', ({model}) => count(sizeOf(model)?.trees ?? 0)],
  ['leaves', ({model}) => count(sizeOf(model)?.leaves ?? 0)],
  ['deepest tree', ({described}) => described === null ? '–' : count(described.maxDepth)],
];

function importanceOf({described}: Side, feature: string): ComponentChildren {
  const found = described?.importances.find(each => each.feature === feature);
  if (found === undefined) return '–';
  return <>{decimal(found.importance)} <span class="sure">± {found.standardError === undefined ? '?' : decimal(found.standardError)}</span></>;
}

export function ComparePage({left, right}: {left: string; right: string}) {
  const sides = useLoad(signal => Promise.all([loadSide(left, signal), loadSide(right, signal)]), [left, right]);
  return <Page title={`${left} beside ${right}`} kind="Models" kindHref={MODELS}>
    <Failure error={sides.error} retry={sides.reload}/>
    {sides.data === undefined ? sides.loading && <Loading what="Loading both models"/> : <Comparison sides={sides.data} ids={[left, right]}/>}
  </Page>;
}

function Comparison({sides: [a, b], ids: [left, right]}: {sides: readonly [Side, Side]; ids: readonly [string, string]}) {
  const features = [...new Set([a, b].flatMap(({described}) => described?.importances.slice(0, FEATURES_SHOWN).map(({feature}) => feature) ?? []))];
  const isSame = JSON.stringify(namesOf(a.model)) === JSON.stringify(namesOf(b.model));
  return <>
    <Table caption="Figures" quiet rows={ROWS} rowKey={([name]) => name} columns={[
      {head: 'of the model', cell: ([name]) => name}, {head: visible(left), cell: ([, cell]) => cell(a)}, {head: `${visible(right)} `, cell: ([, cell]) => cell(b)}]}/>
    <Remark>{isSame ? 'Both take rows with the same features, and answer the same question.'
      : 'They take other features or give other answers: an endpoint is switched between them only if that is allowed.'} How well each predicts,
      its page measures on a table of yours: <ModelLink name={a.model.name}/>, <ModelLink name={b.model.name}/>.</Remark>
    {features.length > 0 && <Table caption="Importance of the features that matter most to either, with one standard error" rows={features} rowKey={feature => feature} columns={[
      {head: 'feature', cell: feature => <Name text={feature} most={48}/>}, {head: visible(left), number: true, cell: feature => importanceOf(a, feature)},
      {head: `${visible(right)} `, number: true, cell: feature => importanceOf(b, feature)}]}/>}
  </>;
}

function namesOf({schema}: Model): unknown {
  return [schema?.label, schema?.classes, schema?.target && [schema.target.min, schema.target.max], schema?.features.map(({name, type}) =>
    [name, type.case, type.case === 'categorical' ? type.value.values : type.case === 'numeric' ? [type.value.min, type.value.max] : null])];
}
