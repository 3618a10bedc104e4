// Links between models, endpoints, and the sources of models.

import type {Model} from 'proto/model_pb';
import {idOf} from '../api/ids';
import {SubNav} from '../parts/layout';
import {Name} from '../parts/text';
import {href} from '../route';

export const MODELS = href('models');
export const ENDPOINTS = href('models', '-', 'endpoints');

export function endpointHref(name: string): string {
  return href('models', '-', 'endpoints', idOf(name));
}

/** Links to the model of the name "models/ID". */
export function ModelLink({name}: {name: string}) {
  return <a href={href('models', idOf(name))}><Name text={idOf(name)}/></a>;
}

/** The study or the job that made a model. */
export function SourceLink({model}: {model: Model}) {
  if (model.study !== '') return <>study <a href={href('studies', idOf(model.study))}><Name text={idOf(model.study)}/></a></>;
  if (model.job !== '') return <>job <a href={href('datasets', 'job', idOf(model.job))}><Name text={idOf(model.job)}/></a></>;
  return <>not said</>;
}

/** The navigation above models and endpoints. */
export function ModelsNav({current}: {current: string}) {
  return <SubNav label="Models and endpoints" links={[['Models', MODELS], ['Endpoints', ENDPOINTS]]} current={current}/>;
}
