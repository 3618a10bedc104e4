// What accuracy a study can be expected to reach, which models were built from it, and what they reach on
// the user's rows.

import {useState} from 'preact/hooks';
import type {ForecastStudyResponse} from 'proto/study_pb';
import {models, studies} from '../api/clients';
import {isUnimplemented} from '../api/errors';
import {idOf} from '../api/ids';
import {useAction} from '../api/load';
import {DocumentFrame} from '../parts/document_frame';
import {EvaluateModel, type Evaluation} from '../parts/evaluation';
import {Form, SelectField, TextField} from '../parts/field';
import {count, countOf, decimal} from '../parts/format';
import {Empty, Remark, Section, When} from '../parts/layout';
import {Failure, Loading, Notice, Progress} from '../parts/notice';
import {PageButtons, Table, usePages} from '../parts/table';
import {Name, visible} from '../parts/text';
import {href} from '../route';
import {OutlookTable, accuracyOf, parseDevices, publicOnlyOf, rangeText} from './forecast';
import type {StudyProps} from './study';
import {totalsOf} from './words';

export function StudyAccuracy(props: StudyProps) {
  const [forecast, setForecast] = useState<ForecastStudyResponse | null>(null);
  const [reached, setReached] = useState<{model: string; evaluation: Evaluation} | null>(null);
  return <>
    <Forecast {...props} onForecast={setForecast}/>
    <Models {...props} onReached={(model, evaluation) => setReached({model, evaluation})}/>
    {forecast !== null && reached !== null && <Compare forecast={forecast} reached={reached}/>}
  </>;
}

function Forecast({id, study, onForecast}: StudyProps & {onForecast: (forecast: ForecastStudyResponse | null) => void}) {
  const accepted = Number(totalsOf(study.counts).accepted);
  const [devices, setDevices] = useState(() => accepted > 0 ? `${accepted}, ${10 * accepted}` : '1000, 10000, 100000');
  const [found, setFound] = useState<ForecastStudyResponse | null>(null);
  const numbers = parseDevices(devices);
  const forecast = useAction(async signal => {
    const response = await studies.forecastStudy({name: `studies/${id}`, devices: numbers.values!.map(BigInt), withPage: true}, {signal});
    setFound(response);
    onForecast(response);
  });
  const result = found?.forecast;
  return <Section title="What to expect" aside="by simulation from the study's public rows; costs no privacy">
    {study.retired ? <p>The public rows of this study are gone, so nothing can be forecast.</p> : <>
      <Form action="Forecast" running={forecast.running} problem={numbers.problem}
        onSubmit={() => void forecast.run()} extra={forecast.running && <button type="button" onClick={forecast.cancel}>Stop</button>}>
        <TextField label="Numbers of reports" value={devices} onValue={setDevices} inputMode="numeric"
          hint={accepted > 0 ? `${countOf(accepted, 'report has', 'reports have')} come so far; add how many you expect.` : 'How many devices you expect to answer.'}/>
      </Form>
      {forecast.running && <Progress label="Simulating studies of these sizes"/>}
      {isUnimplemented(forecast.error) ? <Notice title="This daemon cannot forecast a study that exists">
        <p>It is older than this console. <code>coppice study preview</code> says the same from the public rows.</p></Notice>
        : <Failure error={forecast.error}/>}
    </>}
    {result !== undefined && <>
      <OutlookTable forecast={result} withEpsilon={false}/>
      {result.advice !== '' && <p><Name text={result.advice} most={1000}/></p>}
      {result.page !== '' && <details><summary>As a page to print</summary>
        <DocumentFrame html={result.page} title={`Forecast of ${visible(id)}`} fileName={`${id}-forecast.html`}/></details>}
    </>}
  </Section>;
}

function Models({id, study, onReached}: StudyProps & {onReached: (model: string, evaluation: Evaluation) => void}) {
  const pages = usePages(async (pageToken, signal) => {
    const {models: items, nextPageToken} = await models.listModels({study: `studies/${id}`, pageSize: 20, pageToken}, {signal});
    return {items, nextPageToken};
  }, [id]);
  const [chosen, setChosen] = useState<string | null>(null);
  const items = pages.data?.items;
  const evaluated = chosen ?? items?.at(-1)?.name;
  return <>
    <Section title="Models">
      <Failure error={pages.error} retry={pages.reload}/>
      {items === undefined ? pages.loading && <Loading/> : <>
        <Table caption="Models of this study" quiet rows={items} rowKey={model => model.name} columns={[
          {head: 'model', cell: model => <a href={href('models', idOf(model.name))}><Name text={idOf(model.name)}/></a>},
          {head: 'estimator', cell: model => <Name text={model.certificate?.estimator ?? ''} most={40}/>},
          {head: 'reports', number: true, cell: model => count(model.certificate?.reports ?? 0n)},
          {head: 'built', cell: model => <When at={model.createdUnixSeconds}/>},
          {head: 'final', cell: model => model.name === study.finalModel ? 'yes' : ''},
        ]} empty={<Empty title="No model was built yet" command={`coppice model build --study ${id}`}>
          A model is made of the reports as they are now. It costs no privacy, and may be made again as reports come.</Empty>}/>
        <PageButtons pages={pages} what="models"/>
      </>}
      <BuildModel id={id} study={study} onBuilt={pages.reload}/>
    </Section>
    {evaluated !== undefined && items !== undefined && study.terms.schema !== undefined && <Section title="What was reached">
      {items.length > 1 && <div class="form"><SelectField label="Model" value={evaluated} onValue={setChosen} options={items.map(({name}) => [name, idOf(name)])}/></div>}
      <EvaluateModel key={evaluated} name={evaluated} schema={study.terms.schema} onScores={evaluation => onReached(evaluated, evaluation)}/>
    </Section>}
  </>;
}

type EstimatorName = 'chosen' | 'pooled' | 'smooth' | 'prune' | 'weighted';

const ESTIMATORS: readonly (readonly [EstimatorName, string])[] = [
  ['chosen', 'the curator’s choice: what suits the study’s trees'],
  ['smooth', 'smooth: what the public rows predict, corrected by the reports'],
  ['pooled', 'pooled: all trees in one closed form'],
  ['prune', 'prune: each leaf takes the first ancestor that is certain enough'],
  ['weighted', 'weighted: public rows count λ times as much as private ones'],
];

function BuildModel({id, study, onBuilt}: {id: string; study: StudyProps['study']; onBuilt: () => void}) {
  const [name, setName] = useState('');
  const [estimator, setEstimator] = useState<EstimatorName>('chosen');
  const [lambda, setLambda] = useState('1');
  const [built, setBuilt] = useState('');
  const weight = lambda.trim() === 'inf' ? Infinity : lambda.trim() === '' ? NaN : Number(lambda);
  const fewest = study.settings?.minReports ?? 1n, {accepted} = totalsOf(study.counts);
  const build = useAction(async signal => {
    const {model} = await models.buildModel({study: `studies/${id}`, modelId: name.trim(),
      estimator: estimator === 'chosen' ? {case: undefined} : estimator === 'weighted' ? {case: 'weighted', value: {lambda: weight}}
        : {case: estimator, value: {}}}, {signal});
    setBuilt(model?.name ?? '');
    setName('');
    onBuilt();
  });
  const problem = study.retired ? 'The sums of this study are gone: no further model can be built.'
    : accepted < fewest ? `${countOf(accepted, 'report has', 'reports have')} come; this study asks for ${count(fewest)} before a model is built.`
      : name.trim() !== '' && !/^[a-z0-9_-]{1,63}$/.test(name.trim()) ? 'A name has 1 to 63 of a-z, 0-9, - and _.'
        : estimator === 'weighted' && !(weight >= 0) ? 'λ is a number from 0, or inf.' : null;
  return <details class="more" open={accepted >= fewest && built === '' && build.error !== null}>
    <summary>Build a model from the reports so far</summary>
    <Form action="Build the model" running={build.running} problem={problem} onSubmit={() => void build.run()}>
      <div class="fields">
        <TextField label="Name" value={name} onValue={setName} placeholder="the curator's choice" maxLength={63}/>
        <SelectField label="Estimator" value={estimator} options={ESTIMATORS} onValue={setEstimator}/>
        {estimator === 'weighted' && <TextField label="λ" value={lambda} onValue={setLambda} hint="0: private rows alone; inf: public ones alone."/>}
      </div>
    </Form>
    {build.running && <Progress label="Building the model"/>}
    <Failure error={build.error}/>
    {built !== '' && <Notice kind="done" title={<>The model <a href={href('models', idOf(built))}><Name text={idOf(built)}/></a> was built</>}/>}
  </details>;
}

/** What was forecast at these numbers of reports, next to what the model reached. */
function Compare({forecast, reached}: {forecast: ForecastStudyResponse; reached: {model: string; evaluation: Evaluation}}) {
  const {evaluation} = reached, result = forecast.forecast;
  if (result === undefined) return null;
  const isClasses = evaluation.kind === 'classes';
  const value = isClasses ? evaluation.scores.accuracy : evaluation.scores.rmse;
  const rows = [
    {what: <>reached by <Name text={idOf(reached.model)} most={30}/></>, text: rangeText({mean: value, ...evaluation.scores.interval}), note: '95 %'},
    ...result.outlooks.map(outlook => ({what: <>expected of {count(outlook.devices)} reports</>, text: rangeText(accuracyOf(outlook)), note: '90 %'})),
    {what: <>expected of the public labels alone</>, text: rangeText(publicOnlyOf(result)), note: '90 %'},
    {what: <>{isClasses ? 'always the most frequent class' : 'always the mean'}</>,
      text: decimal(isClasses ? evaluation.scores.majority.share : evaluation.scores.mean.rmse), note: ''},
  ];
  return <Section title="Expected and reached">
    <Table caption={isClasses ? 'Accuracy' : 'Root of the mean squared error'} rows={rows} rowKey={(_, i) => i} columns={[
      {head: '', cell: row => row.what}, {head: isClasses ? 'accuracy' : 'RMSE', cell: row => row.text}, {head: 'interval', cell: row => row.note},
    ]}/>
    <Remark>The forecast is for rows like the public ones. Rows of another kind than these may score higher or lower without any fault.</Remark>
  </Section>;
}
