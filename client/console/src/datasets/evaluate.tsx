// #/datasets/ID/evaluate: how good a model is on the dataset's private rows, with noise, at a price.

import {AccountKind, type Dataset} from 'proto/dataset_pb';
import type {Estimate, Evaluation, PreviewEvaluationResponse, PrivateScores} from 'proto/training_pb';
import {useEffect, useMemo, useState} from 'preact/hooks';
import {datasets, models, training} from '../api/clients';
import {idOf, newRequestId} from '../api/ids';
import {useAction, useLoad} from '../api/load';
import {Form, SelectField, TextField} from '../parts/field';
import {decimal, epsilon, parseCount, parseEpsilon} from '../parts/format';
import {Figures, Page, Remark, Section, Sentences, type Figure} from '../parts/layout';
import {Confirm, Failure, Loading, Notice} from '../parts/notice';
import {Table} from '../parts/table';
import {Name, visible} from '../parts/text';
import {costText} from './budget';
import {ReleaseTable} from './releases';
import {datasetHref} from './where';
import {hasReserve, isHeld} from './words';

const PAUSE_MS = 350;
const MOST_MODELS = 200;

interface Spec {
  model: string;
  dataset: string;
  epsilonNanos: bigint;
  by: string;
  reach: number;
}

/** ".84 to .92". */
export function intervalText(estimate: Estimate): string {
  return `${decimal(estimate.low)} to ${decimal(estimate.high)}`;
}

/** What the curator says that the intervals do not cover; null: they cover what the model is worth. */
export function caveatOf(evaluation: Evaluation): string | null {
  if (evaluation.trainedOnTheseRows) return 'The model was trained on these rows: this is how well it fits them, and no interval covers what it is worth on others.';
  if (evaluation.afterEarlierResults) return 'Results of these rows were released before the model was made, and may have shaped it: the intervals claim no coverage.';
  return null;
}

function figuresOf(scores: PrivateScores): Figure[] {
  const named: [string, Estimate | undefined][] = [['Accuracy', scores.accuracy], ['Area under the curve', scores.auc],
    ['Root mean squared error', scores.rmse], ['Mean absolute error', scores.mae]];
  return named.flatMap(([name, estimate]) => estimate === undefined ? [] : [{name, value: decimal(estimate.value), note: `95 %: ${intervalText(estimate)}`}]);
}

function Result({evaluation}: {evaluation: Evaluation}) {
  const caveat = caveatOf(evaluation);
  return <Section title="What it is worth on private rows">
    {caveat !== null && <Notice kind="warning" title="No interval covers this"><p>{caveat}</p></Notice>}
    {evaluation.scores !== undefined && <Figures figures={figuresOf(evaluation.scores)}/>}
    <Sentences texts={[`It cost ${costText(evaluation.cost)}, on the account of ${evaluation.account === AccountKind.RESERVE ? 'the reserve' : 'training'}.`,
      'Each interval allows for the noise and for sampling.']}/>
    {evaluation.groups.length > 0 && <Table caption={`By ${visible(evaluation.spec?.by ?? '')}`} rows={evaluation.groups} rowKey={({group}) => group} columns={[
      {head: 'value', cell: ({group}) => <Name text={group} most={40}/>},
      {head: 'about how many rows', number: true, cell: ({rows}) => decimal(Math.max(0, rows), 0)},
      {head: 'figure', number: true, cell: ({accuracy, rmse}) => decimal((accuracy ?? rmse)?.value)},
      {head: '95 %', cell: ({accuracy, rmse}) => { const shown = accuracy ?? rmse; return shown === undefined ? '–' : intervalText(shown); }},
    ]}/>}
  </Section>;
}

/** What it would cost, and how wide its interval would be; follows the form as it changes. */
function usePreview(spec: Spec | null, rows: number) {
  const key = spec === null ? '' : JSON.stringify([spec.model, String(spec.epsilonNanos), spec.by, spec.reach, rows]);
  const [settled, setSettled] = useState(key);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(key), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [key]);
  const loaded = useLoad(async signal => settled === '' || spec === null ? undefined : training.previewEvaluation({spec, rows: BigInt(rows)}, {signal}), [settled]);
  return {shown: settled === key ? loaded.data : undefined, error: loaded.error};
}

function Spend({dataset, spec, preview, onDone, onClose}: {dataset: Dataset; spec: Spec; preview: PreviewEvaluationResponse; onDone: (evaluation: Evaluation) => void; onClose: () => void}) {
  const requestId = useMemo(newRequestId, []);
  const evaluate = useAction(async signal => {
    const {evaluation} = await training.evaluateModel({requestId, spec}, {signal});
    if (evaluation === undefined) throw new Error('The daemon answered without the evaluation.');
    onDone(evaluation);
  });
  return <Confirm title="Spend this on an evaluation?" action={`Spend ${costText(preview.cost)}`} running={evaluate.running} error={evaluate.error}
    onConfirm={() => void evaluate.run()} onClose={onClose}>
    <p>{costText(preview.cost)} is taken out of {preview.account === AccountKind.RESERVE ? 'the account of the reserve' : 'the budget'} of <Name text={idOf(dataset.name)}/> now.</p>
    {preview.account !== AccountKind.RESERVE && <p>The dataset has no reserve: all rows are read, also those that the model was trained on.</p>}
  </Confirm>;
}

function PreviewOf({preview, isNumber}: {preview: PreviewEvaluationResponse; isNumber: boolean}) {
  return <>
    {!preview.fits && <Notice kind="error" title="The budget does not allow this"><p><bdi>{visible(preview.reason)}</bdi></p></Notice>}
    <Sentences texts={[`It would be charged ${costText(preview.cost)}.`,
      `On so many rows, ${isNumber ? 'the mean absolute error' : 'the accuracy'} would be good to about ± ${decimal(preview.halfWidth)}.`]}/>
    <ReleaseTable caption="Everything that it would release" releases={preview.releases}/>
  </>;
}

function EvaluationForm({dataset, modelIds, onDone}: {dataset: Dataset; modelIds: string[]; onDone: (evaluation: Evaluation) => void}) {
  const [model, setModel] = useState(modelIds[0] ?? ''), [epsilonText, setEpsilon] = useState(''), [by, setBy] = useState('');
  const [reachText, setReach] = useState(''), [rowsText, setRows] = useState('1000');
  const [isAsking, setAsking] = useState(false);
  const isNumber = dataset.schema?.target !== undefined;
  const groups = dataset.schema?.features.filter(({type}) => type.case === 'categorical').map(({name}) => name) ?? [];
  const epsilonNanos = parseEpsilon(epsilonText), rows = parseCount(rowsText), reach = reachText === '' ? 0 : Number(reachText);
  const isBadReach = !(reach >= 0) || !Number.isFinite(reach);
  const spec = model === '' || epsilonNanos === null || isBadReach ? null : {model: `models/${model}`, dataset: dataset.name, epsilonNanos, by, reach};
  const preview = usePreview(rows === null ? null : spec, rows ?? 0);
  const problem = isHeld(dataset) ? 'The ledger is on hold: nothing can be charged.' : model === '' ? 'There is no model that you may see.'
    : epsilonNanos === null ? 'Say what ε the evaluation may spend.' : isBadReach ? 'Mend the fields that are marked.'
    : preview.error !== null ? 'The daemon refuses this: see below.' : preview.shown === undefined ? 'Asking what it costs …' : preview.shown.fits ? null : 'The budget does not allow it.';
  const left = hasReserve(dataset) ? dataset.reserveEpsilonLeftNanos : dataset.epsilonLeftNanos;
  return <div class="columns"><Form action="Evaluate" problem={problem} onSubmit={() => setAsking(true)}>
    <SelectField label="Model" value={model} onValue={setModel} options={modelIds.map(id => [id, id] as const)}/>
    <TextField label="ε of the evaluation" value={epsilonText} onValue={setEpsilon} inputMode="decimal" placeholder="such as 0.1"
      hint={`At most ${epsilon(left)} is left${hasReserve(dataset) ? ' on the account of the reserve' : ''}.`}
      error={epsilonText !== '' && epsilonNanos === null ? 'A number above 0 with at most nine digits after the point.' : null}/>
    {groups.length > 0 && <SelectField label="Also by" value={by} onValue={setBy} options={[['', 'no feature'] as const, ...groups.map(name => [name, name] as const)]}
      hint="Each of its values is measured too, at no further cost and with wider intervals."/>}
    {isNumber && <TextField label="Reach" value={reachText} onValue={setReach} inputMode="decimal" placeholder="the span of the target"
      hint="Larger errors count as this. Choose it without looking at the rows." error={isBadReach ? 'A number above 0.' : null}/>}
    <TextField label="About how many rows" value={rowsText} onValue={setRows} inputMode="numeric" hint="Your guess, for the width alone: the true number is private."
      error={rows === null ? 'A whole number.' : null}/>
  </Form>
  <Section title="What it would cost and tell">
    <Failure error={preview.error}/>
    {preview.shown === undefined ? preview.error === null && <Remark>Say an ε, and the daemon tells how wide the interval would be. That spends nothing.</Remark>
      : <PreviewOf preview={preview.shown} isNumber={isNumber}/>}
  </Section>
  {isAsking && spec !== null && preview.shown !== undefined && <Spend dataset={dataset} spec={spec} preview={preview.shown}
    onDone={evaluation => { setAsking(false); onDone(evaluation); }} onClose={() => setAsking(false)}/>}</div>;
}

export function EvaluatePage({id}: {id: string}) {
  const [result, setResult] = useState<Evaluation | null>(null);
  const loaded = useLoad(async signal => {
    const [{dataset}, {models: seen}] = await Promise.all([datasets.getDataset({name: `datasets/${id}`, maxEntries: 1}, {signal}), models.listModels({pageSize: MOST_MODELS}, {signal})]);
    if (dataset === undefined) throw new Error('The daemon answered without the dataset.');
    return {dataset, modelIds: seen.map(({name}) => idOf(name))};
  }, [id]);
  return <Page title="Evaluate a model" kind={`Dataset ${visible(id)}`} kindHref={datasetHref(id)}
    lead="The curator measures on private rows, with noise, how good a model is. Nobody sees the rows.">
    <Failure error={loaded.error} retry={loaded.reload}/>
    {result !== null && <Result evaluation={result}/>}
    {loaded.data === undefined ? loaded.loading && <Loading/>
      : <EvaluationForm dataset={loaded.data.dataset} modelIds={loaded.data.modelIds} onDone={evaluation => { setResult(evaluation); loaded.reload(); }}/>}
  </Page>;
}
