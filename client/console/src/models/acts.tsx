// What can be done with a model: have an endpoint serve it, delete it. Both ask first.

import {useState} from 'preact/hooks';
import {models} from '../api/clients';
import {useAction} from '../api/load';
import {Confirm} from '../parts/notice';
import {go} from '../route';
import {MODELS} from './links';
import type {ModelProps} from './model';
import {ServeDialog} from './serve';

export function ModelActs({id, model}: ModelProps) {
  const [asked, setAsked] = useState<'serve' | 'delete' | null>(null);
  const remove = useAction(async signal => {
    await models.deleteModel({name: model.name}, {signal});
    location.hash = MODELS;
  });
  return <>
    <button type="button" onClick={() => setAsked('serve')}>Serve …</button>
    <button type="button" class="danger" onClick={() => { remove.clear(); setAsked('delete'); }}>Delete …</button>
    {asked === 'serve' && <ServeDialog model={id} onClose={() => setAsked(null)} onServed={endpoint => go('models', '-', 'endpoints', endpoint)}/>}
    {asked === 'delete' && <Confirm title="Delete this model?" action="Delete the model" danger typed={id} running={remove.running} error={remove.error}
      onConfirm={() => void remove.run()} onClose={() => setAsked(null)}>
      <p>Nothing brings it back: save a file of it first (Files). What it cost in privacy stays spent; its {model.study === '' ? 'job' : 'study'} stays
        as it is, and its name may be given to another model. The daemon refuses as long as an endpoint serves it.</p>
    </Confirm>}
  </>;
}
