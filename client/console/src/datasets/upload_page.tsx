// #/datasets/ID/upload: begins the upload of a dataset, or resumes it.

import {DatasetState, type Dataset} from 'proto/dataset_pb';
import {useMemo, useState} from 'preact/hooks';
import {datasets} from '../api/clients';
import {useLoad} from '../api/load';
import {Form, SelectField, TextField} from '../parts/field';
import {count, countOf} from '../parts/format';
import {Page, Remark} from '../parts/layout';
import {Failure, Loading, Notice} from '../parts/notice';
import {visible} from '../parts/text';
import {go} from '../route';
import type {TableFormat} from '../rows/schema_file';
import {RowsPicker, type CheckedRows} from './check';
import {UploadRows} from './upload_rows';
import {datasetHref, pathOf} from './where';

const DELIMITERS: readonly (readonly [TableFormat['delimiter'], string])[] = [['', 'as the header shows'], [',', 'comma'], [';', 'semicolon'], ['\t', 'tab']];

function listOf(text: string): string[] {
  return text.split(',').map(each => each.trim()).filter(each => each !== '');
}

function problemOf(dataset: Dataset, checked: CheckedRows | null): string | null {
  if (checked === null) return 'Choose a table that fits.';
  return BigInt(checked.rows) < dataset.rows ? `The curator has ${countOf(dataset.rows, 'row')}, the file fewer: choose the file that the upload began with.` : null;
}

function UploadForm({dataset, id}: {dataset: Dataset; id: string}) {
  const [delimiter, setDelimiter] = useState<TableFormat['delimiter']>('');
  const [missing, setMissing] = useState('');
  const [checked, setChecked] = useState<CheckedRows | null>(null);
  const [isSending, setSending] = useState(false);
  const format = useMemo(() => ({delimiter, missing: listOf(missing)}), [delimiter, missing]);
  const schema = dataset.schema!;
  if (isSending) return <UploadRows name={dataset.name} schema={schema} format={format} checked={checked!} onDone={() => go(...pathOf(id))}/>;
  const left = checked === null ? 0n : BigInt(checked.rows) - dataset.rows;
  return <>
    {dataset.rows > 0n && <Notice kind="info" title={`${countOf(dataset.rows, 'row')} ${dataset.rows === 1n ? 'is' : 'are'} there already`}>
      <p>Choose the very file that the upload began with, and say of missing values what was said then: its first {count(dataset.rows)} rows are skipped, whatever they hold.</p></Notice>}
    <Form action={left > 0n ? `Upload ${countOf(left, 'row')}` : 'End the upload'} problem={problemOf(dataset, checked)} onSubmit={() => setSending(true)}>
      <RowsPicker schema={schema} format={format} label="Rows" onChecked={setChecked}
        hint="CSV with a header. It is read in this browser first; its rows go to this dataset and nowhere else."/>
      <div class="fields">
        <SelectField label="Between fields" value={delimiter} options={DELIMITERS} onValue={setDelimiter}/>
        <TextField label="Missing values" value={missing} onValue={setMissing} placeholder="such as NA, ?" hint="Texts that stand for one, besides the empty one, by commas."/>
      </div>
    </Form>
    <Remark>The upload ends for good with its last row: no row can be added to a dataset later.</Remark>
  </>;
}

export function UploadPage({id}: {id: string}) {
  const loaded = useLoad(async signal => {
    const {dataset} = await datasets.getDataset({name: `datasets/${id}`, maxEntries: 1}, {signal});
    if (dataset === undefined) throw new Error('The daemon answered without the dataset.');
    return dataset;
  }, [id]);
  const [begun, setBegun] = useState<Dataset | undefined>(undefined);
  // Keeps the first answer: the upload itself asks how far it is.
  if (begun === undefined && loaded.data !== undefined) setBegun(loaded.data);
  return <Page title="Upload rows" kind={`Dataset ${visible(id)}`} kindHref={datasetHref(id)} lead="The curator gets to see these rows, and guards them by the dataset's budget.">
    <Failure error={loaded.error} retry={loaded.reload}/>
    {begun === undefined ? loaded.loading && <Loading/>
      : begun.state === DatasetState.UPLOADING ? <UploadForm dataset={begun} id={id}/>
      : <Remark>Its upload has ended: it takes no more rows. <a href={datasetHref(id)}>Go to the dataset</a></Remark>}
  </Page>;
}
