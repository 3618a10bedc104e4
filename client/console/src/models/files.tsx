// A model as files for other programs.

import {Code, ConnectError} from '@connectrpc/connect';
import {useState} from 'preact/hooks';
import {models} from '../api/clients';
import {isUnimplemented} from '../api/errors';
import {useAction} from '../api/load';
import {saveFile} from '../parts/document_frame';
import {bytes} from '../parts/format';
import {Command, Remark, Section} from '../parts/layout';
import {Failure, Notice} from '../parts/notice';
import {Table} from '../parts/table';
import {Name, visible} from '../parts/text';
import type {ModelProps} from './model';

interface Format {
  format: string;
  name: string;
  use: string;
  models: string;
}

// docs/export.md explains these at length.
const FORMATS: readonly Format[] = [
  {format: 'coppice', name: 'Coppice', use: 'the commands of coppice (--file) and Python; keeps the signature', models: 'all'},
  {format: 'json', name: 'JSON', use: 'programs of your own; values by name, with standard errors', models: 'all'},
  {format: 'onnx', name: 'ONNX', use: 'serving: onnxruntime, Triton, browsers', models: 'all'},
  {format: 'xgboost', name: 'XGBoost', use: 'XGBoost and what reads its models, SHAP among it', models: 'not weights, nor trees that split sums of features'},
  {format: 'c', name: 'C header', use: 'firmware and every other program; no library, no allocation', models: 'all'},
];

export function ModelFiles({id, model}: ModelProps) {
  const [chosen, setChosen] = useState('');
  const [saved, setSaved] = useState<{name: string; size: number} | null>(null);
  const save = useAction(async (signal, format: string) => {
    setChosen(format);
    setSaved(null);
    const {content, fileName} = await models.exportModel({name: model.name, format}, {signal});
    saveFile(fileName, new Blob([content as Uint8Array<ArrayBuffer>]));
    setSaved({name: fileName, size: content.length});
  });
  const command = (format: string) => `coppice model export --model ${id}${format === 'coppice' ? '' : ` --format ${format}`} --output ${id}.${format}`;
  return <Section title="Files">
    <Table caption="Every file has the certificate in it. To export costs no privacy: a file holds what the model holds." rows={FORMATS} rowKey={({format}) => format} columns={[
      {head: 'file', cell: ({name}) => name},
      {head: 'for', cell: ({use}) => use},
      {head: 'models', cell: ({models: which}) => which},
      {head: 'save', cell: ({format, name}) => <button type="button" class="small" disabled={save.running} aria-label={`Save as ${name}`}
        onClick={() => void save.run(format)}>{save.running && chosen === format ? 'Writing …' : 'Save'}</button>},
    ]}/>
    {saved !== null && <Notice kind="done" title={<><Name text={saved.name}/>, {bytes(saved.size)}, was handed to the browser</>}/>}
    <SaveError error={save.error} command={command(chosen)}/>
    <Remark>A row for the formats needs no preparation but codes for categories: a category is its position in the schema's values, from 0; one that the schema
      does not list is the number of values; a missing value is NaN. docs/export.md has the details, and the format for devices.</Remark>
  </Section>;
}

function SaveError({error, command}: {error: unknown; command: string}) {
  if (error === null) return null;
  if (isUnimplemented(error)) {
    return <Notice kind="warning" title="This daemon writes no files"><p>It is older than this console. The command writes the same file on your side:</p>
      <Command text={command}/></Notice>;
  }
  const failure = ConnectError.from(error);
  if (failure.code !== Code.FailedPrecondition) return <Failure error={error}/>;
  return <Notice kind="warning" title="There is no such file of this model"><p><bdi>{visible(failure.rawMessage)}</bdi></p></Notice>;
}
