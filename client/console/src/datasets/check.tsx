// Reads the files that the user chooses for a dataset in the browser, and says what is wrong before anything is sent.

import type {Schema} from 'proto/schema_pb';
import {useEffect, useState} from 'preact/hooks';
import {FilePicker} from '../parts/field';
import {count, countOf} from '../parts/format';
import {Facts, Sentences} from '../parts/layout';
import {Failure, Notice, Progress} from '../parts/notice';
import {Name, Names} from '../parts/text';
import {InputErrors} from '../rows/errors';
import {noteTexts, type ReadNotes} from '../rows/read_table';
import {readSchemaFile, type SchemaFile, type TableFormat} from '../rows/schema_file';
import {checkRows} from './upload';

const MOST_SHOWN = 20;

export interface CheckedRows {
  file: File;
  rows: number;
  notes: ReadNotes;
}

/** Lists everything that is wrong with a file. */
export function InputProblems({error, what}: {error: unknown; what: string}) {
  if (!(error instanceof InputErrors)) return <Failure error={error}/>;
  const {errors} = error;
  return <Notice kind="error" title={`${countOf(errors.length, 'thing is', 'things are')} wrong with the ${what}`}>
    <Sentences texts={errors.slice(0, MOST_SHOWN)}/>{errors.length > MOST_SHOWN && <p>And {count(errors.length - MOST_SHOWN)} more.</p>}
  </Notice>;
}

/** Chooses a schema file; `onSchema` gets null while no valid one is chosen. */
export function SchemaPicker({onSchema, hint}: {onSchema: (schema: SchemaFile | null) => void; hint: string}) {
  const [file, setFile] = useState<File | null>(null);
  const [error, setError] = useState<unknown>(null);
  const take = async (chosen: File | null) => {
    setFile(chosen);
    setError(null);
    onSchema(null);
    if (chosen === null) return;
    try {
      onSchema(await readSchemaFile(chosen));
    } catch (failure) {
      setError(failure);
    }
  };
  return <>
    <FilePicker label="Schema" accept=".json,application/json" file={file} onFile={chosen => void take(chosen)} hint={hint}/>
    <InputProblems error={error} what="schema"/>
  </>;
}

export function SchemaSummary({file: {schema, fromRows}}: {file: SchemaFile}) {
  return <>
    <Facts facts={[
      ['Label', schema.target ? <><Name text={schema.label}/>, a number</> : <><Name text={schema.label}/>: <Names texts={schema.classes} most={6}/></>],
      ['Features', <>{count(schema.features.length)}: <Names texts={schema.features.map(feature => feature.name)} most={8}/></>],
    ]}/>
    {fromRows.length > 0 && <Notice kind="warning" title="Some bounds may have been read from private rows">
      <p>Those of <Names texts={fromRows} most={8}/>. Bounds are public, so this leaks what is in the rows. Write what is known without looking at them, and mark it
        "declared", or "from public rows" if everybody may see the rows that they were read from.</p></Notice>}
  </>;
}

type Check = {state: 'none'} | {state: 'reading'; share: number} | {state: 'wrong'; error: unknown} | {state: 'right'; checked: CheckedRows};

/** Chooses a table and reads it all. `onChecked` gets null while no table fits; `onFile` gets any file that is chosen. */
export function RowsPicker({schema, format, label, hint, onChecked, onFile}: {
  schema: Schema; format: TableFormat; label: string; hint: string; onChecked: (checked: CheckedRows | null) => void; onFile?: (file: File | null) => void;
}) {
  const [file, setFile] = useState<File | null>(null);
  const [check, setCheck] = useState<Check>({state: 'none'});
  const formatKey = JSON.stringify(format);
  useEffect(() => {
    onChecked(null);
    onFile?.(file);
    if (file === null) return setCheck({state: 'none'});
    const abort = new AbortController();
    setCheck({state: 'reading', share: 0});
    checkRows(file, schema, format, abort.signal, share => setCheck({state: 'reading', share})).then(({rows, notes}) => {
      if (abort.signal.aborted) return;
      setCheck({state: 'right', checked: {file, rows, notes}});
      onChecked({file, rows, notes});
    }, error => { if (!abort.signal.aborted) setCheck({state: 'wrong', error}); });
    return () => abort.abort();
  }, [file, schema, formatKey]);
  return <>
    <FilePicker label={label} accept=".csv,.tsv,.txt,text/csv" file={file} onFile={setFile} hint={hint}/>
    {check.state === 'reading' && <Progress label="Reading the rows in this browser" share={check.share}/>}
    {check.state === 'wrong' && <InputProblems error={check.error} what="table"/>}
    {check.state === 'right' && <RowNotes checked={check.checked}/>}
  </>;
}

function RowNotes({checked: {rows, notes}}: {checked: CheckedRows}) {
  const texts = noteTexts(notes);
  const isChanged = notes.clamped + notes.rounded + notes.unknown + notes.clampedTargets > 0;
  return <Notice kind={isChanged ? 'warning' : 'info'} title={`${countOf(rows, 'row')} ${rows === 1 ? 'fits' : 'fit'} the schema${isChanged ? ', some with changes' : ''}`}>
    {texts.length === 0 ? <p>Nothing has to be clamped, and nothing is missing.</p> : <p>{texts.join('; ')}.</p>}
    {isChanged && <p>Nothing was sent yet. If these are many, look at the bounds and values of the schema first.</p>}
  </Notice>;
}
