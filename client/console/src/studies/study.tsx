// #/studies/ID: one study. Its parts are pages of their own, so that trees are drawn only on demand.

import {StudyState, type Study} from 'proto/study_pb';
import {studies} from '../api/clients';
import {isNotFound} from '../api/errors';
import {useLoad, type Loaded} from '../api/load';
import {entryOf} from '../parts/format';
import {Empty, Page, State, SubNav} from '../parts/layout';
import {Failure, Loading} from '../parts/notice';
import {href} from '../route';
import {StudyAccuracy} from './accuracy';
import {StudyActs} from './acts';
import {StudyOverview} from './overview';
import {StudyTerms} from './terms';
import {StudyTrees} from './trees';
import {STATES} from './words';

const PARTS: readonly (readonly [string, string])[] = [['', 'Reports'], ['accuracy', 'Models'], ['trees', 'Trees'], ['terms', 'Terms']];

/** A study that exists, as it has terms. */
export type WholeStudy = Study & {terms: NonNullable<Study['terms']>};

export interface StudyProps {
  id: string;
  study: WholeStudy;
  loaded: Loaded<Study>;
}

export function StudyPage({id, part}: {id: string; part: string}) {
  const loaded = useLoad(async signal => {
    const {study} = await studies.getStudy({name: `studies/${id}`}, {signal});
    if (study?.terms === undefined) throw new Error('The daemon answered without the study. Is something between it and the browser?');
    return study;
  }, [id]);
  const study = loaded.data;
  const name = PARTS.find(([address]) => address === part)?.[1];
  if (study?.terms === undefined) {
    return <Page title={id} kind="Study" kindHref={href('studies')}>
      {isNotFound(loaded.error) ? <Empty title="There is no study of this name" action={<a class="button" href={href('studies')}>All studies</a>}>
        It may have been deleted, or you may not see it.</Empty>
        : loaded.error !== null ? <Failure error={loaded.error} retry={loaded.reload}/> : <Loading/>}
    </Page>;
  }
  const state = entryOf(STATES, study.state);
  const props: StudyProps = {id, study: study as WholeStudy, loaded};
  return <Page title={id} kind="Study" kindHref={href('studies')} {...(part === '' || name === undefined ? {} : {part: name})}
    lead={<><State tone={state.tone}>{capital(state.word)}.</State> {state.says}</>} actions={<StudyActs {...props}/>}>
    <SubNav label={`Parts of ${id}`} links={PARTS.map(([address, title]) => [title, linkTo(id, address)])} current={linkTo(id, part)}/>
    <Failure error={loaded.error} retry={loaded.reload}/>
    {part === '' && <StudyOverview {...props}/>}
    {part === 'accuracy' && <StudyAccuracy {...props}/>}
    {part === 'trees' && <StudyTrees {...props}/>}
    {part === 'terms' && <StudyTerms {...props}/>}
    {name === undefined && <Empty title="A study has no such part"/>}
  </Page>;
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

function linkTo(id: string, part: string): string {
  return part === '' ? href('studies', id) : href('studies', id, part);
}

export function isOpen(study: Study): boolean {
  return study.state === StudyState.OPEN;
}
