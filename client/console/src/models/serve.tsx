// Makes an endpoint serve a model from now on: from the model's side, and from the endpoint's.

import {useState} from 'preact/hooks';
import type {Endpoint} from 'proto/model_pb';
import {models} from '../api/clients';
import {isNotFound} from '../api/errors';
import {idOf} from '../api/ids';
import {useAction, useLoad} from '../api/load';
import {CheckField, TextField} from '../parts/field';
import {count} from '../parts/format';
import {Confirm} from '../parts/notice';
import {Name} from '../parts/text';

const ID = /^[a-z0-9][a-z0-9_-]{0,62}$/, MOST_SUGGESTED = 100;
const ID_HINT = '1 to 63 of a-z 0-9 - _, beginning with a letter or digit';

/** The endpoint, or null if none has this id yet. */
async function findEndpoint(id: string, signal: AbortSignal): Promise<Endpoint | null> {
  if (!ID.test(id)) return null;
  try {
    return (await models.getEndpoint({name: `endpoints/${id}`}, {signal})).endpoint ?? null;
  } catch (error) {
    if (isNotFound(error)) return null;
    throw error;
  }
}

export interface ServeProps {
  /** One of the two is given; the user is asked for the other. */
  model?: string;
  endpoint?: string;
  onServed: (endpoint: string) => void;
  onClose: () => void;
}

export function ServeDialog({model, endpoint, onServed, onClose}: ServeProps) {
  const [typedModel, setModel] = useState(model ?? '');
  const [typedEndpoint, setEndpoint] = useState(endpoint ?? '');
  const [allows, setAllows] = useState(false);
  const known = useLoad(signal => suggestions(model === undefined, endpoint === undefined, signal), []);
  const found = useLoad(signal => findEndpoint(typedEndpoint, signal), [typedEndpoint]);
  const served = found.data?.versions.at(-1);
  const set = useAction(async signal => {
    if (!ID.test(typedEndpoint)) throw new Error(`An endpoint's name is ${ID_HINT}.`);
    if (!ID.test(typedModel)) throw new Error(`A model's name is ${ID_HINT}.`);
    // Sends what the user saw, so that somebody else's change in between is refused.
    if (found.data === undefined) throw new Error('What the endpoint serves is not known yet: try again in a moment.');
    try {
      await models.setServingModel({endpoint: `endpoints/${typedEndpoint}`, model: `models/${typedModel}`, allowSchemaChange: allows,
        expectedVersion: served?.number ?? 0n}, {signal});
    } catch (error) {
      found.reload(); // shows what somebody else changed it to meanwhile
      throw error;
    }
    onServed(typedEndpoint);
  });
  return <Confirm title={model === undefined ? 'Serve another model?' : 'Serve this model?'} action="Serve it" running={set.running} error={set.error ?? found.error}
    onConfirm={() => void set.run()} onClose={onClose}>
    {endpoint === undefined && <TextField label="Endpoint" value={typedEndpoint} onValue={setEndpoint} list="endpoints-known" hint={`A known one, or a new name: ${ID_HINT}.`}/>}
    {model === undefined && <TextField label="Model" value={typedModel} onValue={setModel} list="models-known" hint="The name of a model."/>}
    <datalist id="endpoints-known">{known.data?.endpoints.map(id => <option key={id} value={id}/>)}</datalist>
    <datalist id="models-known">{known.data?.models.map(id => <option key={id} value={id}/>)}</datalist>
    <p class="dialog-says" role="status">{!ID.test(typedEndpoint) ? 'Whoever asks the endpoint is answered by the model from then on.'
      : served === undefined ? <>There is no endpoint <Name text={typedEndpoint}/> yet: it is made, with this model as its version 1.</>
        : <>It answers with <Name text={idOf(served.model)}/> now, as version {count(served.number)}. From then on it answers with the other model; a rollback brings this one back.</>}</p>
    <CheckField label="The model may have another schema" hint="Without this, a model with other features or classes than the one that is served is refused: its callers send rows by the old ones."
      checked={allows} onChecked={setAllows}/>
  </Confirm>;
}

async function suggestions(wantsModels: boolean, wantsEndpoints: boolean, signal: AbortSignal): Promise<{models: string[]; endpoints: string[]}> {
  const [ofModels, ofEndpoints] = await Promise.all([
    wantsModels ? models.listModels({pageSize: MOST_SUGGESTED}, {signal}) : null,
    wantsEndpoints ? models.listEndpoints({pageSize: MOST_SUGGESTED}, {signal}) : null]);
  return {models: ofModels?.models.map(({name}) => idOf(name)) ?? [], endpoints: ofEndpoints?.endpoints.map(({name}) => idOf(name)) ?? []};
}
