// #/datasets/ID/train: choose an algorithm, see what it would cost and release, then submit.

import {Neighbours, type Dataset} from 'proto/dataset_pb';
import {type Algorithm, ParameterType, type Parameter, type PreviewJobResponse} from 'proto/training_pb';
import {useEffect, useMemo, useRef, useState} from 'preact/hooks';
import {datasets, training} from '../api/clients';
import {newRequestId, idOf} from '../api/ids';
import {useAction, useLoad} from '../api/load';
import {CheckField, Form, SelectField, TextField} from '../parts/field';
import {DELTA_WANTED, countOf, delta, epsilon, parseDelta, parseEpsilon} from '../parts/format';
import {Page, Remark, Section, Sentences} from '../parts/layout';
import {Confirm, Failure, Loading, Notice} from '../parts/notice';
import {Name, visible} from '../parts/text';
import {go, href} from '../route';
import {BudgetBar} from './budget_bar';
import {costText, rho} from './budget';
import {hasProblem, misfitOf, problemOf, rangeText, settingsOf, textOf, type Settings} from './parameters';
import {ReleaseTable} from './releases';
import {datasetHref} from './where';
import {isConcentrated, isHeld, knowsRho, neighboursOf} from './words';

const PAUSE_MS = 350;

interface Spec {
  dataset: string;
  algorithm: string;
  epsilonNanos: bigint;
  deltaAtto: bigint;
  settings: Record<string, string>;
  withoutPublicRows: boolean;
}

// The daemon's descriptions begin in lower case and end without a full stop.
function sentence(text: string): string {
  const shown = visible(text);
  return `${shown.slice(0, 1).toUpperCase()}${shown.slice(1)}${/[.!?]$/.test(shown) ? '' : '.'}`;
}

function ParameterField({parameter, value, onValue}: {parameter: Parameter; value: string; onValue: (value: string) => void}) {
  const {name, type, choices, defaultValue, description} = parameter;
  if (type === ParameterType.CHOICE) {
    const usual = defaultValue === '' ? 'the algorithm\'s choice' : defaultValue;
    const others = choices.filter(choice => choice !== defaultValue);
    return <SelectField label={name} hint={<>{sentence(description)}{defaultValue !== '' && <><br/>Default: {defaultValue}.</>}</>} value={value} onValue={onValue}
      options={[['', usual] as const, ...others.map(choice => [choice, choice] as const)]}/>;
  }
  return <TextField label={name} value={value} onValue={onValue} inputMode="decimal" error={problemOf(parameter, value)}
    placeholder={defaultValue === '' ? 'chosen by the algorithm' : `${defaultValue} (default)`}
    hint={<>{sentence(description)}<br/>{sentence(rangeText(parameter))}</>}/>;
}

function AlgorithmWords({algorithm}: {algorithm: Algorithm}) {
  return <Sentences texts={[
    <>{sentence(algorithm.summary)}</>,
    <>Source: {visible(algorithm.source)}. {algorithm.delta ? 'It takes a δ; without one its guarantee is pure.' : 'Its guarantee is pure: it takes no δ.'}</>,
  ]}/>;
}

/** What the job would be charged and would release; follows the form as it changes. */
function usePreview(spec: Spec | null) {
  const key = spec === null ? '' : JSON.stringify([spec.algorithm, String(spec.epsilonNanos), String(spec.deltaAtto), spec.settings, spec.withoutPublicRows]);
  const [settled, setSettled] = useState(key);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(key), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [key]);
  const before = useRef<PreviewJobResponse | undefined>(undefined);
  const loaded = useLoad(async signal => settled === '' || spec === null ? undefined : training.previewJob({spec}, {signal}), [settled]);
  if (loaded.data !== undefined) before.current = loaded.data;
  const isCurrent = settled === key && !loaded.loading;
  return {shown: loaded.data ?? before.current, error: loaded.error, isCurrent};
}

function PreviewOf({preview, dataset, spec}: {preview: PreviewJobResponse; dataset: Dataset; spec: Spec | null}) {
  const cost = preview.cost;
  const withDelta = isConcentrated(dataset) ? `, or ε ${epsilon(dataset.epsilonLeftAtDeltaNanos)} with all of the cap's δ` : '';
  return <>
    {!preview.fits && <Notice kind="error" title="The budget does not allow this job"><p><bdi>{visible(preview.reason)}</bdi></p></Notice>}
    {preview.warnings.map(warning => <Notice key={warning} kind="warning" title="Know this first"><p><bdi>{visible(warning)}</bdi></p></Notice>)}
    <Sentences texts={[
      <>The job would be charged {costText(cost)}{isConcentrated(dataset) && knowsRho(cost) && `, ρ ${rho(cost!.rhoPico)}`} when it is submitted.
        A failure, or a cancel once it runs, would give nothing back.</>,
      <>Neighbouring tables differ in: {neighboursOf(dataset)}.</>,
      !isConcentrated(dataset) && spec !== null && cost !== undefined && preview.fits
        ? `After it, ε ${epsilon((dataset.epsilonLeftNanos > cost.epsilonNanos ? dataset.epsilonLeftNanos - cost.epsilonNanos : 0n))} is left of ${epsilon(dataset.cap?.epsilonNanos ?? 0n)}.`
        : `Before it, ε ${epsilon(dataset.epsilonLeftNanos)} is left for one release without δ${withDelta}.`,
    ]}/>
    <BudgetBar dataset={dataset} more={cost?.epsilonNanos ?? 0n}/>
    <ReleaseTable caption="Everything that it would release" releases={preview.releases}/>
  </>;
}

function Submit({dataset, spec, preview, names, onClose}: {dataset: Dataset; spec: Spec; preview: PreviewJobResponse; names: {job: string; model: string}; onClose: () => void}) {
  const requestId = useMemo(newRequestId, []);
  const submit = useAction(async signal => {
    const {job} = await training.submitJob({requestId, jobId: names.job, modelId: names.model, spec}, {signal});
    go('datasets', 'job', idOf(job?.name ?? ''));
  });
  return <Confirm title="Spend this on a model?" action={`Spend ${costText(preview.cost)}`} running={submit.running} error={submit.error}
    onConfirm={() => void submit.run()} onClose={onClose}>
    <p>{costText(preview.cost)} is taken out of the budget of <Name text={idOf(dataset.name)}/> now. It is refunded only if the job is cancelled before it begins.</p>
    <p>Neighbouring tables differ in: {neighboursOf(dataset)}.</p>
    {preview.warnings.length > 0 && <p>{preview.warnings.length === 1 ? 'The warning on the page stands' : 'The warnings on the page stand'}: <bdi>{visible(preview.warnings[0]!)}</bdi></p>}
  </Confirm>;
}

/** Reads the fields, or returns why they cannot be used yet. */
function readSpec(dataset: Dataset, algorithm: Algorithm | undefined, epsilonText: string, deltaText: string, texts: Settings, withoutPublicRows: boolean): {spec: Spec | null; problem: string | null} {
  const epsilonNanos = parseEpsilon(epsilonText), deltaAtto = algorithm?.delta ? parseDelta(deltaText === '' ? '0' : deltaText) : 0n;
  if (algorithm === undefined) return {spec: null, problem: 'Choose an algorithm.'};
  if (epsilonNanos === null) return {spec: null, problem: 'Say what ε the job may spend.'};
  if (deltaAtto === null || hasProblem(algorithm, texts)) return {spec: null, problem: 'Mend the fields that are marked.'};
  return {spec: {dataset: dataset.name, algorithm: algorithm.name, epsilonNanos, deltaAtto, settings: settingsOf(algorithm, texts), withoutPublicRows}, problem: null};
}

function JobForm({dataset, algorithms}: {dataset: Dataset; algorithms: Algorithm[]}) {
  const fitting = algorithms.filter(each => misfitOf(each, dataset) === null);
  const [chosen, setChosen] = useState(fitting.some(({name}) => name === 'auto') ? 'auto' : fitting[0]?.name ?? '');
  const [epsilonText, setEpsilon] = useState(''), [deltaText, setDelta] = useState('');
  const [texts, setTexts] = useState<Record<string, Settings>>({});
  const [names, setNames] = useState({job: '', model: ''});
  const [fromPublic, setFromPublic] = useState(true);
  const [isAsking, setAsking] = useState(false);
  const algorithm = algorithms.find(({name}) => name === chosen);
  const own = Object.hasOwn(texts, chosen) ? texts[chosen]! : {};
  const {spec, problem} = readSpec(dataset, algorithm, epsilonText, deltaText, own, dataset.publicRows > 0n && !fromPublic);
  const preview = usePreview(spec);
  const held = isHeld(dataset) ? 'The ledger is on hold: nothing can be charged.' : null;
  const unfit = spec !== null && (preview.shown === undefined || !preview.isCurrent) ? 'Asking what it costs …' : preview.shown?.fits === false ? 'The budget does not allow it.' : null;
  const refused = preview.error !== null ? 'The daemon refuses this: see below.' : null;
  if (fitting.length === 0) return <Remark>No algorithm of this daemon fits the dataset.</Remark>;
  return <>
    <div class="columns"><Form action="Submit the job" problem={held ?? problem ?? refused ?? unfit} onSubmit={() => setAsking(true)}>
      <SelectField label="Algorithm" value={chosen} onValue={setChosen} options={fitting.map(({name}) => [name, name] as const)}/>
      {algorithm !== undefined && <AlgorithmWords algorithm={algorithm}/>}
      <div class="fields">
        <TextField label="ε of the job" value={epsilonText} onValue={setEpsilon} inputMode="decimal" placeholder="such as 0.5"
          hint={`At most ${epsilon(isConcentrated(dataset) && algorithm?.delta ? dataset.epsilonLeftAtDeltaNanos : dataset.epsilonLeftNanos)} is left.`}
          error={epsilonText !== '' && parseEpsilon(epsilonText) === null ? 'A number above 0 with at most nine digits after the point.' : null}/>
        {algorithm?.delta && <TextField label="δ of the job" value={deltaText} onValue={setDelta} inputMode="decimal" placeholder="0"
          hint={(dataset.cap?.deltaAtto ?? 0n) > 0n ? `At most the cap's ${delta(dataset.cap!.deltaAtto)}; 0: pure.` : 'The budget has no δ: leave it 0.'}
          error={deltaText !== '' && parseDelta(deltaText) === null ? DELTA_WANTED : null}/>}
      </div>
      {dataset.publicRows > 0n && <CheckField label={`Start from the dataset's ${countOf(dataset.publicRows, 'public row')}`} checked={fromPublic} onChecked={setFromPublic}
        hint="Nothing protects them: the model may contain them."/>}
      {algorithm !== undefined && algorithm.parameters.length > 0 && <details class="more" key={chosen}><summary>{algorithm.parameters.length} parameters, all with defaults</summary>
        <div class="fields">{algorithm.parameters.map(parameter => <ParameterField key={`${chosen}/${parameter.name}`} parameter={parameter} value={textOf(own, parameter.name)}
          onValue={value => setTexts(before => ({...before, [chosen]: {...own, [parameter.name]: value}}))}/>)}</div></details>}
      <details class="more"><summary>Names of the job and of its model</summary>
        <div class="fields">
          <TextField label="Job" value={names.job} onValue={job => setNames({...names, job})} placeholder="the curator's choice"/>
          <TextField label="Model" value={names.model} onValue={model => setNames({...names, model})} placeholder="the job's name"/>
        </div></details>
    </Form>
    <Section title="What it would cost and release">
      <Failure error={preview.error}/>
      {spec === null || preview.shown === undefined ? preview.error === null && <Remark>Say an ε,
        and the daemon tells what the job would be charged and what it would release. That spends nothing.</Remark>
        : preview.error === null && <div class={preview.isCurrent ? '' : 'stale'} aria-live="polite"><PreviewOf preview={preview.shown} dataset={dataset} spec={spec}/></div>}
    </Section></div>
    <Misfits dataset={dataset} algorithms={algorithms}/>
    {isAsking && spec !== null && preview.shown !== undefined && <Submit dataset={dataset} spec={spec} preview={preview.shown} names={names} onClose={() => setAsking(false)}/>}
  </>;
}

function Misfits({dataset, algorithms}: {dataset: Dataset; algorithms: Algorithm[]}) {
  const misfits = algorithms.map(({name}, i) => [name, misfitOf(algorithms[i]!, dataset)] as const).filter(([, why]) => why !== null);
  if (misfits.length === 0) return null;
  return <details class="more"><summary>{misfits.length} algorithms that do not fit this dataset</summary>
    <Sentences texts={misfits.map(([name, why]) => `${name}: ${why}.`)}/></details>;
}

export function NewJob({id}: {id: string}) {
  const loaded = useLoad(async signal => {
    const [{dataset}, {algorithms}] = await Promise.all([datasets.getDataset({name: `datasets/${id}`, maxEntries: 1}, {signal}), training.listAlgorithms({}, {signal})]);
    if (dataset === undefined) throw new Error('The daemon answered without the dataset.');
    return {dataset, algorithms};
  }, [id], {everyMs: 15_000});
  return <Page title="Train a model" kind={`Dataset ${visible(id)}`} kindHref={datasetHref(id)}
    lead={loaded.data === undefined ? undefined : loaded.data.dataset.cap?.neighbours === Neighbours.CHANGE_LABEL
      ? 'The model is released with noise that hides the label of each row.' : 'The model is released with noise that hides whether each row is there.'}
    actions={<a class="button" href={href('datasets', 'curve')}>What an epsilon buys</a>}>
    <Failure error={loaded.error} retry={loaded.reload}/>
    {loaded.data === undefined ? loaded.loading && <Loading/> : <JobForm dataset={loaded.data.dataset} algorithms={loaded.data.algorithms}/>}
  </Page>;
}
