// Evaluates a model on rows that the user chooses: the daemon predicts, the browser compares with the labels.

import {useState} from 'preact/hooks';
import type {Prediction} from 'proto/model_pb';
import type {Schema} from 'proto/schema_pb';
import {models} from '../api/clients';
import {useAction} from '../api/load';
import {ClassEvaluation, classVerdict, type ClassScores, type Interval} from '../rows/class_evaluation';
import {NumberEvaluation, numberVerdict, type NumberScores} from '../rows/number_evaluation';
import {noteTexts, readTable, toRows, type Block, type ReadNotes} from '../rows/read_table';
import {FilePicker, Form, TextField} from './field';
import {count, countOf, decimal, percent, signedDecimal, significant} from './format';
import {Figures, Remark} from './layout';
import {Failure, Progress} from './notice';
import {Table} from './table';
import {Name, visible} from './text';

export type Evaluation = {kind: 'classes'; scores: ClassScores} | {kind: 'numbers'; scores: NumberScores};

const MOST_CALL_BYTES = 2 << 20, MOST_CALL_ROWS = 10_000, MOST_CLASSES_SHOWN = 12;

function rowsPerCall(features: number): number {
  return Math.min(Math.max(Math.floor(MOST_CALL_BYTES / (8 * features + 8)), 1), MOST_CALL_ROWS);
}

/** Has the daemon predict `file` block by block, and scores the answers. Memory does not grow with the rows. */
async function evaluateFile(name: string, schema: Schema, file: File, missing: string[], signal: AbortSignal,
    onRows: (rows: number, share: number) => void): Promise<{evaluation: Evaluation; notes: ReadNotes}> {
  const {target} = schema;
  const numbers = target === undefined ? null : new NumberEvaluation(target.min, target.max);
  const classes = target === undefined ? new ClassEvaluation(schema.classes.length) : null;
  const add = (block: Block, row: number, prediction: Prediction) => {
    numbers?.add(prediction.value, block.targets[row]!);
    classes?.add(prediction.label, prediction.probabilities, block.labels[row]!);
  };
  let share = 0;
  const {notes} = await readTable(file, schema, {labels: 'required', format: {delimiter: '', missing}, blockRows: rowsPerCall(schema.features.length), signal,
    onProgress: read => { share = read; },
    onBlock: async block => {
      const {predictions} = await models.predict({name, rows: toRows(block)}, {signal});
      if (predictions.length !== block.rows) throw new Error(`the daemon predicted ${predictions.length} rows where ${block.rows} were sent`);
      predictions.forEach((prediction, row) => add(block, row, prediction));
      onRows(block.firstRow + block.rows, share);
    }});
  return {evaluation: classes !== null ? {kind: 'classes', scores: classes.scores()} : {kind: 'numbers', scores: numbers!.scores()}, notes};
}

const ABOUT = 'The daemon gets to see the features of these rows, not their labels, and keeps neither.';

/** Chooses a file and shows the scores, which `onScores` also gets. */
export function EvaluateModel({name, schema, onScores}: {name: string; schema: Schema; onScores?: (evaluation: Evaluation) => void}) {
  const [file, setFile] = useState<File | null>(null);
  const [missing, setMissing] = useState('NA');
  const [progress, setProgress] = useState<{rows: number; share: number} | null>(null);
  const [result, setResult] = useState<{evaluation: Evaluation; notes: ReadNotes; file: string} | null>(null);
  const evaluate = useAction(async signal => {
    setResult(null);
    setProgress({rows: 0, share: 0});
    try {
      const texts = missing.split(',').map(text => text.trim()).filter(text => text !== '');
      const found = await evaluateFile(name, schema, file!, texts, signal, (rows, share) => setProgress({rows, share}));
      setResult({...found, file: file!.name});
      onScores?.(found.evaluation);
    } finally {
      setProgress(null);
    }
  });
  return <>
    <Form action="Evaluate" running={evaluate.running} problem={file === null ? 'Choose a table with labels first.' : null} onSubmit={() => void evaluate.run()}
      extra={evaluate.running && <button type="button" onClick={evaluate.cancel}>Stop</button>}>
      <div class="fields">
        <FilePicker label="Table with labels" accept=".csv,.tsv,.txt,text/csv" file={file} onFile={setFile} hint={`CSV with the columns of the schema and ${visible(schema.label)}. ${ABOUT}`}/>
        <TextField label="Missing values" value={missing} onValue={setMissing} hint="Texts that stand for one, besides the empty one, by commas."/>
      </div>
    </Form>
    {progress !== null && <Progress label="Rows predicted" share={progress.share} note={count(progress.rows)}/>}
    <Failure error={evaluate.error}/>
    {result !== null && <>
      <Scores evaluation={result.evaluation} schema={schema}/>
      {noteTexts(result.notes).length > 0 && <Remark>In <Name text={result.file} most={40}/>: {noteTexts(result.notes).join(', ')}.</Remark>}
      <Remark>An accuracy measured on private rows is itself a release; publish it only for public ones.</Remark>
    </>}
  </>;
}

function between({low, high}: Interval, text: (value: number) => string): string {
  return `${text(low)} to ${text(high)}`;
}

/** The results of an evaluation, like the page of `coppice model evaluate --html`. */
export function Scores({evaluation, schema}: {evaluation: Evaluation; schema: Schema}) {
  return evaluation.kind === 'classes' ? <ClassScoresView scores={evaluation.scores} classes={schema.classes}/>
    : <NumberScoresView scores={evaluation.scores} unit={schema.target?.unit ?? ''}/>;
}

function ClassScoresView({scores, classes}: {scores: ClassScores; classes: readonly string[]}) {
  const always = classes[scores.majority.label] ?? '';
  return <div role="status">
    <p class="verdict">{visible(classVerdict(always, scores))}</p>
    <Figures figures={[
      {name: 'Accuracy', value: decimal(scores.accuracy), note: between(scores.interval, decimal)},
      {name: `Always “${visible(always)}”`, value: decimal(scores.majority.share), note: 'without a model'},
      {name: 'Gain', value: signedDecimal(scores.gain), note: between(scores.gainInterval, signedDecimal)},
      {name: 'AUC', value: decimal(scores.auc ?? undefined), note: '0.5 is guessing, 1 perfect'},
      {name: 'Log loss', value: decimal(scores.logLoss), note: `without a model ${decimal(scores.majorityLogLoss)}`},
    ]}/>
    <p>Measured on {countOf(scores.rows, 'row')}; intervals are of 95 %.</p>
    <div class="columns">
      {classes.length <= MOST_CLASSES_SHOWN && <Confusion scores={scores} classes={classes}/>}
      <Table caption="Recall: the share of a class that is found. Precision: how often an answer is right." rows={classes} rowKey={(_, k) => k} columns={[
        {head: 'class', cell: name => <Name text={name} most={40}/>},
        {head: 'recall', number: true, cell: (_, k) => decimal(scores.recall[k] ?? undefined)},
        {head: 'precision', number: true, cell: (_, k) => decimal(scores.precision[k] ?? undefined)},
      ]}/>
    </div>
  </div>;
}

/** Six shades by the share of the true class. */
function shade(share: number): string {
  const level = Math.min(Math.ceil(share * 6), 6);
  return level > 0 ? `h${level}` : '';
}

function Confusion({scores, classes}: {scores: ClassScores; classes: readonly string[]}) {
  const caption = 'Rows are the true class, columns what the model answered; the share is of the true class.';
  return <figure class="table narrow"><figcaption>{caption}</figcaption>
    <div class="scroll" role="region" tabIndex={0} aria-label={caption}><table aria-label={caption}>
      <thead><tr><th scope="col">true class</th>{classes.map(name => <th key={name} scope="col" class="n"><Name text={name} most={20}/></th>)}</tr></thead>
      <tbody>{scores.confusion.map((row, k) => {
        const all = row.reduce((sum, n) => sum + n, 0);
        return <tr key={k}><th scope="row"><Name text={classes[k] ?? ''} most={20}/></th>{row.map((n, p) =>
          <td key={p} class={`heat ${all > 0 ? shade(n / all) : ''} ${p === k ? 'right' : ''}`}>{count(n)}<small>{all > 0 ? percent(n / all) : '–'}</small></td>)}</tr>;
      })}</tbody>
    </table></div></figure>;
}

function NumberScoresView({scores, unit}: {scores: NumberScores; unit: string}) {
  const withUnit = (value: number) => unit === '' ? significant(value) : `${significant(value)} ${visible(unit)}`;
  return <div role="status">
    <p class="verdict">{numberVerdict(scores)}</p>
    <Figures figures={[
      {name: 'RMSE', value: withUnit(scores.rmse), note: between(scores.interval, significant)},
      {name: 'Always the mean', value: withUnit(scores.mean.rmse), note: `the mean is ${withUnit(scores.mean.value)}`},
      {name: 'Gain', value: `${scores.gain >= 0 ? '+' : ''}${significant(scores.gain)}`, note: between(scores.gainInterval, significant)},
      {name: 'Mean absolute error', value: withUnit(scores.mae), note: `without a model ${withUnit(scores.mean.mae)}`},
      {name: 'R²', value: decimal(scores.r2 ?? undefined), note: 'share of the variance'},
    ]}/>
    <p>Measured on {countOf(scores.rows, 'row')}; intervals are of 95 %.</p>
  </div>;
}
