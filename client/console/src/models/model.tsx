// #/models/ID: one model. Its parts are pages of their own; what was loaded and the row that was tried stay.

import {useMemo, useState} from 'preact/hooks';
import type {DescribeModelResponse, Model} from 'proto/model_pb';
import type {Schema} from 'proto/schema_pb';
import {models} from '../api/clients';
import {isNotFound} from '../api/errors';
import {useLoad, type Loaded} from '../api/load';
import {EvaluateModel} from '../parts/evaluation';
import {Empty, Page, Section, SubNav} from '../parts/layout';
import {Failure, Loading} from '../parts/notice';
import {href} from '../route';
import {treeFeatures, type TreeFeature} from '../trees/questions';
import {ModelActs} from './acts';
import {ModelCertificate} from './certificate';
import {ModelFiles} from './files';
import {MODELS, SourceLink} from './links';
import {ModelOverview} from './overview';
import {ModelTrees} from './trees';
import {TryRow} from './try_row';
import {useTriedRow, type TriedRow} from './tried_row';
import {createdText} from './words';

const PARTS: readonly (readonly [string, string])[] = [['', 'Overview'], ['trees', 'Trees'], ['try', 'Try a row'], ['evaluate', 'Evaluate'],
  ['certificate', 'Certificate'], ['files', 'Files']];

/** A model that can be used, as it has a schema. */
export type WholeModel = Model & {schema: Schema};

export interface ModelProps {
  id: string;
  model: WholeModel;
  /** The features of the schema, and the derived ones. */
  features: readonly TreeFeature[];
  described: Loaded<DescribeModelResponse>;
  tried: TriedRow;
}

async function loadModel(name: string, signal: AbortSignal): Promise<WholeModel> {
  const {model} = await models.getModel({name}, {signal});
  if (model?.schema === undefined) throw new Error('The daemon answered without the model, or without its schema.');
  return model as WholeModel;
}

export function ModelPage({id, part}: {id: string; part: string}) {
  const name = `models/${id}`;
  const loaded = useLoad(signal => loadModel(name, signal), [name]);
  const described = useLoad(signal => models.describeModel({name}, {signal}), [name]);
  const model = loaded.data;
  if (model === undefined) {
    return <Page title={id} kind="Model" kindHref={MODELS}>
      {isNotFound(loaded.error) ? <Empty title="There is no model of this name" action={<a class="button" href={MODELS}>All models</a>}>
        It may have been deleted, or you may not see it.</Empty>
        : loaded.error !== null ? <Failure error={loaded.error} retry={loaded.reload}/> : <Loading what="Loading the trees"/>}
    </Page>;
  }
  return <OneModel id={id} part={part} model={model} loaded={loaded} described={described}/>;
}

function OneModel({id, part, model, loaded, described}: {
  id: string; part: string; model: WholeModel; loaded: Loaded<WholeModel>; described: Loaded<DescribeModelResponse>;
}) {
  const [evaluated, setEvaluated] = useState(part === 'evaluate');
  if (part === 'evaluate' && !evaluated) setEvaluated(true);
  const features = useMemo(() => treeFeatures(model.schema, model.derived), [model]);
  const tried = useTriedRow(id, model.schema);
  const title = PARTS.find(([address]) => address === part)?.[1];
  const props: ModelProps = {id, model, features, described, tried};
  return <Page title={id} kind="Model" kindHref={MODELS} {...(part === '' || title === undefined ? {} : {part: title})}
    lead={<>Made by <SourceLink model={model}/>, {createdText(model)}</>} actions={<ModelActs {...props}/>}>
    <SubNav label={`Parts of ${id}`} links={PARTS.map(([address, text]) => [text, linkTo(id, address)])} current={linkTo(id, part)}/>
    <Failure error={loaded.error} retry={loaded.reload}/>
    {part === '' && <ModelOverview {...props}/>}
    {part === 'trees' && <ModelTrees {...props}/>}
    {part === 'try' && <TryRow {...props}/>}
    {/* Stays, so that a measurement goes on while the user looks at other parts. */}
    {evaluated && <div class={part === 'evaluate' ? '' : 'gone'}><Section title="Evaluate on a table">
      <p>Choose rows with true answers that the model has not seen. The browser reads the file, the daemon predicts block by block, and the browser
        compares. On private rows the result is itself a release, which no budget counts: whoever learns it learns of these rows.</p>
      <EvaluateModel name={model.name} schema={model.schema}/>
    </Section></div>}
    {part === 'certificate' && <ModelCertificate {...props}/>}
    {part === 'files' && <ModelFiles {...props}/>}
    {title === undefined && <Empty title="A model has no such part" action={<a class="button" href={href('models', id)}>The model</a>}/>}
  </Page>;
}

function linkTo(id: string, part: string): string {
  return part === '' ? href('models', id) : href('models', id, part);
}
