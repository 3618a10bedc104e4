// #/datasets/curve: what each epsilon buys on a public table.

import type {Algorithm} from 'proto/training_pb';
import {useState} from 'preact/hooks';
import {training} from '../api/clients';
import {useAction, useLoad} from '../api/load';
import {DocumentFrame} from '../parts/document_frame';
import {CheckField, Form, TextField} from '../parts/field';
import {DELTA_WANTED, countOf, parseCount, parseDelta, parseEpsilon} from '../parts/format';
import {Page, Remark, Section} from '../parts/layout';
import {Failure, Progress} from '../parts/notice';
import {parseNumbers, type NumberList} from '../parts/number_list';
import {visible} from '../parts/text';
import {href} from '../route';
import type {SchemaFile} from '../rows/schema_file';
import {RowsPicker, SchemaPicker, SchemaSummary, type CheckedRows} from './check';
import {MOST_PUBLIC_ROWS, readPublicRows} from './public_rows';

const MIN_ROWS = 10, MAX_ALGORITHMS = 4, MAX_EPSILONS = 8, MAX_REPEATS = 20;

interface Question {
  algorithms: string[];
  epsilonsText: string;
  deltaText: string;
  repeatsText: string;
}

/** "0.1, 1" → billionths. */
function parseEpsilons(text: string): NumberList<bigint> {
  return parseNumbers(text, {what: 'epsilons above 0', most: MAX_EPSILONS, parse: parseEpsilon, mayBeEmpty: true});
}

function problemOf(schema: SchemaFile | null, checked: CheckedRows | null, question: Question): string | null {
  if (schema === null) return 'Choose a schema.';
  if (checked === null) return 'Choose public rows that fit.';
  if (checked.rows < MIN_ROWS || checked.rows > MOST_PUBLIC_ROWS) return `The daemon takes ${MIN_ROWS} to 20,000 rows; the file has ${countOf(checked.rows, 'row')}.`;
  const epsilons = parseEpsilons(question.epsilonsText);
  if (epsilons.problem !== null) return epsilons.problem;
  if (parseDelta(question.deltaText === '' ? '0' : question.deltaText) === null) return `The δ does not fit. ${DELTA_WANTED}`;
  if (question.repeatsText.trim() !== '' && parseCount(question.repeatsText, 1, MAX_REPEATS) === null) return `Give 1 to ${MAX_REPEATS} repeats.`;
  return question.algorithms.length > MAX_ALGORITHMS ? `Choose at most ${MAX_ALGORITHMS} algorithms.` : null;
}

function Algorithms({algorithms, isNumbers, chosen, onChosen}: {algorithms: readonly Algorithm[]; isNumbers: boolean; chosen: string[]; onChosen: (names: string[]) => void}) {
  const fitting = algorithms.filter(each => isNumbers ? each.regression : each.classification);
  return <fieldset class="choices"><legend>Algorithms, at most {MAX_ALGORITHMS}</legend>
    {fitting.map(({name, summary}) => <CheckField key={name} label={name} hint={visible(summary)} checked={chosen.includes(name)}
      onChecked={checked => onChosen(checked ? [...chosen, name] : chosen.filter(each => each !== name))}/>)}</fieldset>;
}

export function CurvePage() {
  const algorithms = useLoad(async signal => (await training.listAlgorithms({}, {signal})).algorithms, []);
  const [schema, setSchema] = useState<SchemaFile | null>(null);
  const [checked, setChecked] = useState<CheckedRows | null>(null);
  const [question, setQuestion] = useState<Question>({algorithms: ['auto'], epsilonsText: '', deltaText: '', repeatsText: ''});
  const [progress, setProgress] = useState(0);
  const [page, setPage] = useState('');
  const set = (change: Partial<Question>) => setQuestion({...question, ...change});
  const isNumbers = schema?.schema.target !== undefined;
  const measure = useAction(async signal => {
    setPage('');
    setProgress(0);
    const rows = await readPublicRows(schema!.schema, schema!.format, checked!.file, signal);
    let measured = '';
    for await (const answer of training.measureCurve({schema: schema!.schema, rows, algorithms: question.algorithms, epsilonNanos: parseEpsilons(question.epsilonsText).values!,
      deltaAtto: parseDelta(question.deltaText === '' ? '0' : question.deltaText)!, repeats: parseCount(question.repeatsText) ?? 0}, {signal})) {
      measured = answer.page;
      setProgress(answer.progress);
    }
    if (measured === '') throw new Error('The daemon ended the measurement without a result. Try again.');
    setPage(measured);
  });
  return <Page title="What an epsilon buys" kind="Datasets" kindHref={href('datasets')}
    lead="How well algorithms predict at each epsilon, measured on a table that is public. It touches no dataset and spends no budget.">
    <Form action="Measure" running={measure.running} problem={problemOf(schema, checked, question)} onSubmit={() => void measure.run()}
      extra={measure.running && <button type="button" onClick={measure.cancel}>Stop</button>}>
      <SchemaPicker onSchema={file => { setSchema(file); setChecked(null); }} hint="JSON, of a table like yours (docs/schema.md)."/>
      {schema !== null && <><SchemaSummary file={schema}/>
        <RowsPicker schema={schema.schema} format={schema.format} label="Public rows" onChecked={setChecked}
          hint="CSV with 10 to 20,000 rows. Never private ones: what is measured is shown without noise."/></>}
      <div class="fields">
        <TextField label="Epsilons" value={question.epsilonsText} placeholder="the curator's choice" onValue={epsilonsText => set({epsilonsText})} hint={`1 to ${MAX_EPSILONS}, by commas.`}/>
        <TextField label="δ of each model" value={question.deltaText} onValue={deltaText => set({deltaText})} placeholder="0" hint="0: pure."/>
        <TextField label="Repeats" value={question.repeatsText} placeholder="the curator's choice" onValue={repeatsText => set({repeatsText})} inputMode="numeric"
          hint={`Random splits into rows to train on and rows to predict, 1 to ${MAX_REPEATS}.`}/>
      </div>
      {algorithms.data !== undefined && <Algorithms algorithms={algorithms.data} isNumbers={isNumbers} chosen={question.algorithms} onChosen={names => set({algorithms: names})}/>}
    </Form>
    {measure.running && <Progress label="Training and predicting" share={progress}/>}
    <Failure error={measure.error ?? algorithms.error}/>
    {page !== '' && <Section title="Measured"><DocumentFrame html={page} title="What an epsilon buys" fileName="curve.html"/></Section>}
    {page === '' && !measure.running && <Remark>Your own rows may behave otherwise. Rows that are like them, from a public source, tell most.</Remark>}
  </Page>;
}
