// The irreversible acts on a study: seal it, delete it. Both ask first.

import {useState} from 'preact/hooks';
import {studies} from '../api/clients';
import {useAction} from '../api/load';
import {countOf} from '../parts/format';
import {Confirm} from '../parts/notice';
import {go} from '../route';
import {isOpen, type StudyProps} from './study';
import {totalsOf} from './words';

export function StudyActs({id, study, loaded}: StudyProps) {
  const [asked, setAsked] = useState<'seal' | 'delete' | null>(null);
  const name = `studies/${id}`;
  const seal = useAction(async signal => {
    await studies.sealStudy({name}, {signal});
    setAsked(null);
    loaded.reload();
  });
  const remove = useAction(async signal => {
    await studies.deleteStudy({name}, {signal});
    go('studies');
  });
  const ask = (what: 'seal' | 'delete') => {
    seal.clear();
    remove.clear();
    setAsked(what);
  };
  const {accepted} = totalsOf(study.counts);
  return <>
    {isOpen(study) && <button type="button" onClick={() => ask('seal')}>Seal …</button>}
    <button type="button" class="danger" onClick={() => ask('delete')}>Delete …</button>
    {asked === 'seal' && <Confirm title="Seal this study?" action="Seal the study" running={seal.running} error={seal.error}
      onConfirm={() => void seal.run()} onClose={() => setAsked(null)}>
      <p>It takes no more reports, for good: those that devices still hold are dropped. {countOf(accepted, 'report is', 'reports are')} kept,
        and models can be built from them as before.</p>
    </Confirm>}
    {asked === 'delete' && <Confirm title="Delete this study?" action="Delete the study" danger typed={id} running={remove.running} error={remove.error}
      onConfirm={() => void remove.run()} onClose={() => setAsked(null)}>
      <p>Its sums of {countOf(accepted, 'report')}, its spent tickets, joined rows and models are deleted, for good. What its devices have spent
        stays spent: they do not answer for it again. Its name is never used again.</p>
    </Confirm>}
  </>;
}
