// #/studies/~new: leads from a schema and public rows to a forecast, and to a study.

import {useEffect, useMemo, useRef, useState} from 'preact/hooks';
import type {PreviewStudyResponse} from 'proto/study_pb';
import {studies} from '../api/clients';
import {idOf, newRequestId} from '../api/ids';
import {useAction} from '../api/load';
import {DocumentFrame} from '../parts/document_frame';
import {CheckField, FilePicker, Form, TextField} from '../parts/field';
import {count, countOf, epsilon, parseCount, parseEpsilon} from '../parts/format';
import {Facts, Page, Remark, Section, Sentences} from '../parts/layout';
import {Confirm, Failure, Notice, Progress} from '../parts/notice';
import {parseNumbers} from '../parts/number_list';
import {Name, Names, visible} from '../parts/text';
import {go, href} from '../route';
import {InputErrors} from '../rows/errors';
import {noteTexts, readTable, toRows, type ReadNotes} from '../rows/read_table';
import {readSchemaFile, type SchemaFile} from '../rows/schema_file';
import {MOST_FORECASTS, OutlookTable, parseDevices} from './forecast';

interface PublicRows {
  rows: {values: number[]}[];
  labels: number[];
  numbers: number[];
  notes: ReadNotes;
}

// About what one request may hold: the daemon refuses more than 64 MiB unless told otherwise.
const MOST_PUBLIC_BYTES = 48 << 20;
const CHOSEN = 'the curator\'s choice';
const MIN_EPSILON = 10_000_000n, MAX_EPSILON = 20_000_000_000n;

async function readPublicRows(file: File, {schema, format}: SchemaFile, withLabels: boolean, signal: AbortSignal): Promise<PublicRows> {
  const found: PublicRows = {rows: [], labels: [], numbers: [], notes: {clamped: 0, rounded: 0, unknown: 0, missing: 0, clampedTargets: 0}};
  const maxRows = Math.max(1, Math.floor(MOST_PUBLIC_BYTES / (8 * schema.features.length + 8)));
  const {notes} = await readTable(file, schema, {labels: withLabels ? 'required' : 'ignored', format, maxRows, signal, onBlock: block => {
    for (const row of toRows(block)) found.rows.push(row);
    for (const label of block.labels) found.labels.push(withLabels ? label : 0);
    for (const number of block.targets) found.numbers.push(withLabels ? number : schema.target!.min);
  }});
  return {...found, notes};
}

interface Draft {
  schema: SchemaFile | null;
  rows: PublicRows | null;
  withoutRows: boolean;
  withoutLabels: boolean;
  acceptLeak: boolean;
}

/** What the daemon is asked to make, without its names. */
function requestOf({schema, rows, withoutRows, withoutLabels, acceptLeak}: Draft) {
  const ignoreLabels = withoutRows || withoutLabels;
  return {
    schema: schema!.schema,
    publicRows: rows?.rows ?? [],
    ...(schema!.schema.target === undefined ? {publicLabels: rows?.labels ?? []} : {publicNumbers: rows?.numbers ?? []}),
    partition: {ignoreLabels, fromSchema: withoutRows}, // the curator chooses the rest
    acceptLeak,
  };
}

/** Whether the schema shows, or may show, something of private rows. */
function leaks({schema}: Draft): boolean {
  return schema !== null && schema.fromRows.length > 0;
}

function parseStudyEpsilon(text: string): bigint | null {
  const nanos = parseEpsilon(text);
  return nanos !== null && nanos >= MIN_EPSILON && nanos <= MAX_EPSILON ? nanos : null;
}

export function NewStudy() {
  const [draft, setDraft] = useState<Draft>({schema: null, rows: null, withoutRows: false, withoutLabels: false, acceptLeak: false});
  const isReady = draft.schema !== null && (draft.withoutRows || draft.rows !== null);
  return <Page title="New study" kind="Studies" kindHref={href('studies')} lead="A schema and a few public rows make a partition. Devices answer in it, one randomized report each.">
    <Inputs draft={draft} onDraft={setDraft}/>
    {isReady && <Planned draft={draft}/>}
    {!isReady && <Remark>Next: a forecast of the accuracy, before anybody is asked. A schema is made by <code>coppice schema infer --data public.csv --rows public --label NAME --output schema.json</code>.</Remark>}
  </Page>;
}

interface Reading {
  running: boolean;
  error: unknown;
}

const NOT_READING: Reading = {running: false, error: null};

/** `onDraft` gets a function of the draft, as files may be chosen while others are read. */
function Inputs({draft, onDraft}: {draft: Draft; onDraft: (change: (before: Draft) => Draft) => void}) {
  const [schemaName, setSchemaName] = useState<File | null>(null);
  const [rowsFile, setRowsFile] = useState<File | null>(null);
  const [read, setRead] = useState<Reading>(NOT_READING);
  const [schemaErrors, setSchemaErrors] = useState<readonly string[]>([]);
  const chosenSchema = useRef<File | null>(null);
  const again = (change: Partial<Draft>) => onDraft(before => ({...before, ...change, rows: null}));
  const takeSchema = async (file: File | null) => {
    chosenSchema.current = file;
    setSchemaName(file);
    setSchemaErrors([]);
    again({schema: null, acceptLeak: false});
    if (file === null) return;
    try {
      const schema = await readSchemaFile(file);
      if (chosenSchema.current === file) again({schema});
    } catch (error) {
      if (chosenSchema.current === file) setSchemaErrors(error instanceof InputErrors ? error.errors : [String(error)]);
    }
  };
  const takeRows = (file: File | null) => {
    setRowsFile(file);
    again({});
  };
  // Rows belong to the file and the schema shown: what was being read before is dropped.
  useEffect(() => {
    setRead(NOT_READING);
    if (rowsFile === null || draft.schema === null || draft.withoutRows) return;
    const abort = new AbortController();
    setRead({running: true, error: null});
    readPublicRows(rowsFile, draft.schema, !draft.withoutLabels, abort.signal).then(rows => {
      if (abort.signal.aborted) return;
      setRead(NOT_READING);
      onDraft(before => ({...before, rows}));
    }, error => { if (!abort.signal.aborted) setRead({running: false, error}); });
    return () => abort.abort();
  }, [rowsFile, draft.schema, draft.withoutRows, draft.withoutLabels]);
  return <Section title="What is public">
    <div class="form wide"><div class="fields">
      <FilePicker label="Schema" accept=".json,application/json" file={schemaName} onFile={file => void takeSchema(file)}
        hint="JSON: features with public bounds or values, and what is predicted (docs/schema.md)."/>
      {!draft.withoutRows && <FilePicker label="Public rows" accept=".csv,.tsv,.txt,text/csv" file={rowsFile} onFile={takeRows}
        hint="CSV. Every device gets to see the partition made from them, which shows them almost exactly: never private rows."/>}
    </div>
    <CheckField label="There are no public rows" checked={draft.withoutRows} onChecked={withoutRows => again({withoutRows})}
      hint="The partition is then spread over the schema's bounds."/>
    {!draft.withoutRows && <CheckField label="The public labels are missing or not to be trusted" checked={draft.withoutLabels}
      onChecked={withoutLabels => again({withoutLabels})} hint="The partition comes from the features alone, and private labels decide."/>}
    </div>
    {schemaErrors.length > 0 && <Notice kind="error" title={`${countOf(schemaErrors.length, 'thing is', 'things are')} wrong with the schema`}>
      <Sentences texts={schemaErrors.slice(0, 20)}/>{schemaErrors.length > 20 && <p>And {schemaErrors.length - 20} more.</p>}</Notice>}
    {read.running && <Progress label="Reading the rows"/>}
    <Failure error={read.error}/>
    {draft.schema !== null && <Summary schema={draft.schema} rows={draft.withoutRows ? null : draft.rows}/>}
    {leaks(draft) && <CheckField label="Take them as they are" checked={draft.acceptLeak} onChecked={acceptLeak => onDraft(before => ({...before, acceptLeak}))}
      hint="What they tell is outside of every ε, and the certificates of the models say so."/>}
  </Section>;
}

function Summary({schema: {schema, fromRows}, rows}: {schema: SchemaFile; rows: PublicRows | null}) {
  const notes = rows === null ? [] : noteTexts(rows.notes);
  const shown = schema.features.filter(feature => feature.isPublic).map(feature => feature.name);
  return <>
    <Facts facts={[
      ['Predicts', schema.target ? <><Name text={schema.label}/>, a number</> : <><Name text={schema.label}/>: <Names texts={schema.classes} most={6}/></>],
      ['Features', <>{count(schema.features.length)}: <Names texts={schema.features.map(feature => feature.name)} most={8}/></>],
      shown.length > 0 && ['Sent in the clear', <Names texts={shown} most={8}/>],
      rows !== null && ['Public rows', count(rows.rows.length)],
    ]}/>
    {notes.length > 0 && <Remark>In the public rows: {notes.join(', ')}.</Remark>}
    {fromRows.length > 0 && <Notice kind="warning" title="Some bounds may have been read from private rows">
      <p>Those of <Names texts={fromRows} most={8}/>. Bounds are public, so this leaks what is in the rows. Write what is known without looking at them, and mark it
        "declared", or "from public rows" if everybody may see the rows that they were read from.</p></Notice>}
  </>;
}

function Planned({draft}: {draft: Draft}) {
  const [epsilons, setEpsilons] = useState('');
  const [devices, setDevices] = useState('');
  const [found, setFound] = useState<PreviewStudyResponse | null>(null);
  const wanted = {epsilons: parseNumbers(epsilons, {what: 'epsilons from 0.01 to 20', most: MOST_FORECASTS, parse: parseStudyEpsilon, mayBeEmpty: true}),
    devices: parseDevices(devices)};
  const preview = useAction(async signal => {
    setFound(null);
    setFound(await studies.previewStudy({study: requestOf(draft), epsilonNanos: wanted.epsilons.values!, devices: wanted.devices.values!.map(BigInt), withPage: true}, {signal}));
  });
  return <>
    <Section title="Forecast" aside="from the public rows alone; creates nothing and asks nobody">
      <Form action="Forecast" running={preview.running} problem={wanted.epsilons.problem ?? wanted.devices.problem} onSubmit={() => void preview.run()}
        extra={preview.running && <button type="button" onClick={preview.cancel}>Stop</button>}>
        <div class="fields">
          <TextField label="Epsilons" value={epsilons} onValue={setEpsilons} placeholder={CHOSEN} hint="What one report may cost its device: smaller is more private."/>
          <TextField label="Numbers of devices" value={devices} onValue={setDevices} placeholder={CHOSEN} hint="How many you expect to answer."/>
        </div>
      </Form>
      {preview.running && <Progress label="Simulating each combination"/>}
      <Failure error={preview.error}/>
      {found !== null && <>
        <OutlookTable forecast={found} withEpsilon/>
        {found.advice !== '' && <Notice title="Advice"><p><Name text={found.advice} most={1000}/></p></Notice>}
        {found.page !== '' && <details class="more"><summary>As a page to print</summary><DocumentFrame html={found.page} title="Forecast" fileName="forecast.html"/></details>}
      </>}
    </Section>
    <Creation draft={draft} suggestion={wanted.epsilons.values?.at(-1) ?? null}/>
  </>;
}

const ID = /^[a-z0-9_-]{1,63}$/;

function Creation({draft, suggestion}: {draft: Draft; suggestion: bigint | null}) {
  const [id, setId] = useState('');
  const [epsilonText, setEpsilonText] = useState(suggestion === null ? '1' : epsilon(suggestion));
  const [expected, setExpected] = useState('');
  const [fewest, setFewest] = useState('');
  const [ends, setEnds] = useState('');
  const [days, setDays] = useState('');
  const [withTokens, setWithTokens] = useState(false);
  const [isAsked, setAsked] = useState(false);
  const requestId = useRef(newRequestId());
  const nanos = parseStudyEpsilon(epsilonText), minReports = fewest.trim() === '' ? undefined : parseCount(fewest, 0), expectedDevices = expected.trim() === '' ? 0 : parseCount(expected, 0);
  const endsAt = ends === '' ? 0 : Math.floor(new Date(ends).getTime() / 1000), retentionDays = days.trim() === '' ? 0 : parseCount(days, 0, 36500);
  const create = useAction(async signal => {
    const {study} = await studies.createStudy({...requestOf(draft), requestId: requestId.current, studyId: id.trim(), epsilonNanos: nanos!,
      expectedDevices: BigInt(expectedDevices!),
      settings: {...(minReports === undefined ? {} : {minReports: BigInt(minReports!)}), expiresUnixSeconds: BigInt(endsAt), retentionDays: retentionDays!, requireSubmissionToken: withTokens}}, {signal});
    go('studies', idOf(study!.name));
  });
  const problem = leaks(draft) && !draft.acceptLeak ? 'Declare the bounds that may have been read from private rows, or accept that they leak.'
    : id.trim() !== '' && !ID.test(id.trim()) ? 'A name has 1 to 63 of a-z, 0-9, - and _.' : nanos === null ? 'Epsilon is a number from 0.01 to 20.'
    : minReports === null ? 'The fewest reports are a whole number.' : expectedDevices === null ? 'The expected devices are a whole number.'
      : endsAt !== 0 && !(endsAt * 1000 > Date.now()) ? 'The end must be in the future.' : retentionDays === null ? 'Days are a whole number.' : null;
  const rows = useMemo(() => draft.rows?.rows.length ?? 0, [draft]);
  const shown = draft.schema?.schema.features.filter(feature => feature.isPublic).length ?? 0;
  return <Section title="Create">
    <Form action="Create the study …" running={create.running} problem={problem} onSubmit={() => { requestId.current = newRequestId(); create.clear(); setAsked(true); }}>
      <div class="fields">
        <TextField label="Name" value={id} onValue={setId} placeholder={CHOSEN} maxLength={63} hint="Its id, for good."/>
        <TextField label="Epsilon per report" value={epsilonText} onValue={setEpsilonText} inputMode="decimal" hint="0.01 to 20. It cannot be changed."/>
        <TextField label="Devices that you expect" value={expected} onValue={setExpected} inputMode="numeric" placeholder="unknown" hint="Sizes the partition where there are no labels."/>
        <TextField label="Fewest reports of a model" value={fewest} onValue={setFewest} inputMode="numeric" placeholder={CHOSEN} hint="No model is built of fewer; devices are told."/>
        <TextField label="Ends" type="datetime-local" value={ends} onValue={setEnds} hint="Collection ends by itself. Empty: when you seal it."/>
        <TextField label="Days kept after sealing" value={days} onValue={setDays} inputMode="numeric" placeholder="for good" hint="Then sums and public rows are deleted; models stay."/>
      </div>
      <CheckField label="Ask for submission tokens" checked={withTokens} onChecked={setWithTokens} hint="Each token counts once: coppice study tokens --count N makes them."/>
    </Form>
    {isAsked && <Confirm title="Create this study?" action="Create the study" running={create.running} error={create.error} onConfirm={() => void create.run()} onClose={() => setAsked(false)}>
      <p>Devices may answer from now on, once each. A report is differentially private with epsilon {nanos === null ? '' : epsilon(nanos)}
        {shown > 0 && `, which does not protect the ${countOf(shown, 'feature')} that it sends in the clear`}. The terms cannot be changed.</p>
      <p>{rows > 0 ? `The partition shows the ${countOf(rows, 'public row')} almost exactly, to every device. They must be public.` : `The partition follows from the schema alone, which is public: ${visible(draft.schema?.schema.label ?? '')}.`}</p>
    </Confirm>}
  </Section>;
}
