// #/datasets/new: a schema, a budget that cannot change later, and rows.

import {Composition, CompositionSchema, Neighbours, NeighboursSchema, type Dataset} from 'proto/dataset_pb';
import {useMemo, useState} from 'preact/hooks';
import {datasets} from '../api/clients';
import {idOf, newRequestId} from '../api/ids';
import {useAction} from '../api/load';
import {CheckField, Form, SelectField, TextField} from '../parts/field';
import {meaningOf, wordOf} from '../parts/enums';
import {DELTA_WANTED, count, countOf, delta, epsilon, parseDelta, parseEpsilon} from '../parts/format';
import {Page, Remark, Section, Sentences} from '../parts/layout';
import {Confirm} from '../parts/notice';
import {Name} from '../parts/text';
import {go, href} from '../route';
import type {SchemaFile} from '../rows/schema_file';
import {RowsPicker, SchemaPicker, SchemaSummary, type CheckedRows} from './check';
import {MOST_PUBLIC_ROWS, readPublicRows} from './public_rows';
import {UploadRows} from './upload_rows';
import {pathOf} from './where';

interface Terms {
  id: string;
  epsilonText: string;
  deltaText: string;
  composition: 'basic' | 'zcdp';
  neighbours: 'row' | 'label';
  acceptLeak: boolean;
  reserveText: string;
}

interface Cap {
  epsilonNanos: bigint;
  deltaAtto: bigint;
  composition: Composition;
  neighbours: Neighbours;
  reserveMillionths: number;
}

const FIRST_TERMS: Terms = {id: '', epsilonText: '', deltaText: '', composition: 'basic', neighbours: 'row', acceptLeak: false, reserveText: ''};
const ID = /^[a-z0-9_-]{1,63}$/;

function capOf({epsilonText, deltaText, composition, neighbours, reserveText}: Terms): Cap | string {
  const epsilonNanos = parseEpsilon(epsilonText), deltaAtto = parseDelta(deltaText === '' ? '0' : deltaText);
  if (epsilonNanos === null) return 'Say what ε all jobs may cost together.';
  if (deltaAtto === null) return 'Mend the δ.';
  if (composition === 'zcdp' && deltaAtto === 0n) return 'Zero-concentrated composition needs a δ above 0, such as 1e-6.';
  const reserveMillionths = Math.round(Number(reserveText) * 1e4);
  if (!(reserveMillionths >= 0 && reserveMillionths < 1e6)) return 'The reserve is a share of the rows, from 0 to below 100 %.';
  return {epsilonNanos, deltaAtto, reserveMillionths, composition: composition === 'zcdp' ? Composition.ZERO_CONCENTRATED : Composition.BASIC,
    neighbours: neighbours === 'label' ? Neighbours.CHANGE_LABEL : Neighbours.ADD_OR_REMOVE_ROW};
}

function CapWords({cap}: {cap: Cap}) {
  return <Sentences texts={[
    `All jobs together may cost ε ${epsilon(cap.epsilonNanos)}${cap.deltaAtto > 0n ? ` and δ ${delta(cap.deltaAtto)}` : ''}. Neighbouring tables differ in: ${wordOf(NeighboursSchema, cap.neighbours)}.`,
    meaningOf(NeighboursSchema, cap.neighbours), meaningOf(CompositionSchema, cap.composition),
    ...(cap.reserveMillionths > 0 ? ['Evaluations of models read the reserve alone and have an account of their own, up to the same ε. Training never reads it.'] : []),
    'The schema, the budget and the relation can never be changed. Creating a dataset spends nothing.',
  ]}/>;
}

function TermFields({terms, onTerms}: {terms: Terms; onTerms: (terms: Terms) => void}) {
  const set = (change: Partial<Terms>) => onTerms({...terms, ...change});
  return <>
    <TextField label="Name" value={terms.id} onValue={id => set({id})} placeholder="the curator's choice"
      error={terms.id !== '' && !ID.test(terms.id) ? 'A name has 1 to 63 small letters, digits, - and _.' : null}/>
    <TextField label="Reserve, in % of the rows" value={terms.reserveText} onValue={reserveText => set({reserveText})} inputMode="decimal" placeholder="0, or such as 10"
      hint="Rows that a coin puts aside for evaluations: training never reads them, and what evaluations cost takes nothing from training."/>
    <div class="fields">
      <TextField label="ε in all" value={terms.epsilonText} onValue={epsilonText => set({epsilonText})} inputMode="decimal" placeholder="such as 4"
        hint="What all jobs together may cost, for good. Smaller protects more."
        error={terms.epsilonText !== '' && parseEpsilon(terms.epsilonText) === null ? 'A number above 0 with at most nine digits after the point.' : null}/>
      <TextField label="δ in all" value={terms.deltaText} onValue={deltaText => set({deltaText})} inputMode="decimal" placeholder="0"
        hint="0: pure differential privacy alone. Else well below 1 / number of rows."
        error={terms.deltaText !== '' && parseDelta(terms.deltaText) === null ? DELTA_WANTED : null}/>
      <SelectField label="What it protects" value={terms.neighbours} onValue={neighbours => set({neighbours})} hint="What neighbouring tables differ in."
        options={[['row', 'whether a row is there'], ['label', 'the label of a row']]}/>
      <SelectField label="How costs add up" value={terms.composition} onValue={composition => set({composition})} hint="zCDP: more small jobs, for a δ."
        options={[['basic', 'basic: epsilons add up'], ['zcdp', 'zero-concentrated (zCDP)']]}/>
    </div>
  </>;
}

function Create({terms, cap, schema, checked, publicRows, onCreated, onClose}: {
  terms: Terms; cap: Cap; schema: SchemaFile; checked: CheckedRows; publicRows: CheckedRows | null; onCreated: (dataset: Dataset) => void; onClose: () => void;
}) {
  const requestId = useMemo(newRequestId, []);
  const create = useAction(async signal => {
    const given = publicRows === null ? {} : {publicRows: await readPublicRows(schema.schema, schema.format, publicRows.file, signal)};
    const {dataset} = await datasets.createDataset({requestId, datasetId: terms.id, schema: schema.schema, cap, acceptLeak: terms.acceptLeak, ...given}, {signal});
    if (dataset === undefined) throw new Error('The daemon answered without the dataset.');
    onCreated(dataset);
  });
  return <Confirm title="Create this dataset?" action={`Create it and upload ${countOf(checked.rows, 'row')}`} running={create.running} error={create.error}
    onConfirm={() => void create.run()} onClose={onClose}>
    <p>The rows of <Name text={checked.file.name}/> go to the curator, which gets to see all of them.</p>
    {publicRows !== null && <p>So do {countOf(publicRows.rows, 'public row')} of <Name text={publicRows.file.name}/>. Nothing protects these: every model may contain them.</p>}
    <CapWords cap={cap}/>
  </Confirm>;
}

export function NewDataset() {
  const [schema, setSchema] = useState<SchemaFile | null>(null);
  const [checked, setChecked] = useState<CheckedRows | null>(null);
  const [publicFile, setPublicFile] = useState<File | null>(null);
  const [publicRows, setPublicRows] = useState<CheckedRows | null>(null);
  const [terms, setTerms] = useState<Terms>(FIRST_TERMS);
  const [isAsking, setAsking] = useState(false);
  const [created, setCreated] = useState<Dataset | null>(null);
  const cap = capOf(terms);
  if (created !== null && schema !== null && checked !== null) {
    return <Page title={idOf(created.name)} kind="New dataset" kindHref={href('datasets')} lead="The dataset is made; its rows are on their way.">
      <UploadRows name={created.name} schema={schema.schema} format={schema.format} checked={checked} onDone={() => go(...pathOf(idOf(created.name)))}/>
    </Page>;
  }
  const problem = schema === null ? 'Choose a schema.' : checked === null ? 'Choose rows that fit the schema.'
    : schema.fromRows.length > 0 && !terms.acceptLeak ? 'Declare the bounds that may have been read from private rows, or accept that they leak.'
    : publicFile !== null && publicRows === null ? 'Choose public rows that fit the schema, or none.'
    : publicRows !== null && publicRows.rows > MOST_PUBLIC_ROWS ? `Choose at most ${count(MOST_PUBLIC_ROWS)} public rows.`
    : terms.id !== '' && !ID.test(terms.id) ? 'Mend the name.' : typeof cap === 'string' ? cap : null;
  return <Page title="New dataset" kind="Datasets" kindHref={href('datasets')}
    lead="The curator keeps the rows, and every model that is trained on them spends a part of the budget that you set here.">
    <div class="columns"><Form action="Create and upload" problem={problem} onSubmit={() => setAsking(true)}>
      <SchemaPicker onSchema={file => { setSchema(file); setChecked(null); setPublicFile(null); setPublicRows(null); setTerms({...terms, acceptLeak: false}); }} hint="JSON: features with public bounds or values, and the label (docs/schema.md)."/>
      {schema === null ? <Remark>A schema is made by <code>coppice schema infer --data public.csv --rows public --label NAME --output schema.json</code>.
        Its bounds and values are public: never read them off private rows.</Remark> : <>
        <SchemaSummary file={schema}/>
        {schema.fromRows.length > 0 && <CheckField label="Take them as they are" checked={terms.acceptLeak} onChecked={acceptLeak => setTerms({...terms, acceptLeak})}
          hint="What they tell is outside of every ε, and the certificates of the models say so."/>}
        <RowsPicker schema={schema.schema} format={schema.format} label="Rows" onChecked={setChecked}
          hint="CSV with a header. They are read in this browser; nothing is sent before you create the dataset."/>
        <RowsPicker schema={schema.schema} format={schema.format} label="Public rows, if there are any" onChecked={setPublicRows} onFile={setPublicFile}
          hint={`CSV like the other, with at most ${count(MOST_PUBLIC_ROWS)} rows that everybody may see. Jobs start from them unless told otherwise. Choose them without looking at the rows above.`}/></>}
      <TermFields terms={terms} onTerms={setTerms}/>
    </Form>
    {typeof cap !== 'string' && <Section title="What that guarantees"><CapWords cap={cap}/></Section>}</div>
    {isAsking && schema !== null && checked !== null && typeof cap !== 'string' && <Create terms={terms} cap={cap} schema={schema} checked={checked} publicRows={publicRows}
      onCreated={setCreated} onClose={() => setAsking(false)}/>}
  </Page>;
}
