// #/studies/ID: one study. Its parts are pages of their own, so that trees are drawn only on demand.

import {useMemo} from 'preact/hooks';
import {StudyState, StudyStateSchema, type Study} from 'proto/study_pb';
import {studies} from '../api/clients';
import {isNotFound} from '../api/errors';
import {useLoad, type Loaded} from '../api/load';
import {meaningOf, wordOf} from '../parts/enums';
import {Empty, Page, State, SubNav} from '../parts/layout';
import {Failure, Loading} from '../parts/notice';
import {href} from '../route';
import {StudyAccuracy} from './accuracy';
import {StudyActs} from './acts';
import {StudyOverview} from './overview';
import {StudySource, type StudyCalls, type WholeStudy} from './study_source';
import {StudyTerms} from './terms';
import {StudyTrees} from './trees';
import {toneOf} from './words';

const PARTS: readonly (readonly [string, string])[] = [['', 'Reports'], ['accuracy', 'Models'], ['trees', 'Trees'], ['terms', 'Terms']];

export interface StudyProps {
  id: string;
  study: WholeStudy;
  loaded: Loaded<WholeStudy>;
  /** Whether reports have come since the alarms were told, which a load would tell anew. */
  hasOldAlarms: () => boolean;
}

const CALLS: StudyCalls = {
  get: async (name, signal) => (await studies.getStudy({name}, {signal})).study,
  list: (page, signal) => studies.listStudies(page, {signal}),
};

export function StudyPage({id, part}: {id: string; part: string}) {
  const source = useMemo(() => new StudySource(`studies/${id}`, CALLS), [id]);
  const loaded = useLoad(signal => source.load(signal), [id]);
  const study = loaded.data;
  const name = PARTS.find(([address]) => address === part)?.[1];
  if (study === undefined) {
    return <Page title={id} kind="Study" kindHref={href('studies')}>
      {isNotFound(loaded.error) ? <Empty title="There is no study of this name" action={<a class="button" href={href('studies')}>All studies</a>}>
        It may have been deleted, or you may not see it.</Empty>
        : loaded.error !== null ? <Failure error={loaded.error} retry={loaded.reload}/> : <Loading/>}
    </Page>;
  }
  const props: StudyProps = {id, study, loaded, hasOldAlarms: () => source.hasOldAlarms()};
  return <Page title={id} kind="Study" kindHref={href('studies')} {...(part === '' || name === undefined ? {} : {part: name})}
    lead={<><State tone={toneOf(study.state)}>{capital(wordOf(StudyStateSchema, study.state))}.</State> {meaningOf(StudyStateSchema, study.state)}</>} actions={<StudyActs {...props}/>}>
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
