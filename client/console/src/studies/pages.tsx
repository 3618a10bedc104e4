// The pages under #/studies: the list, #/studies/~new, and the parts of one study.

import type {FamilyProps} from '../app';
import {StudyList} from './list';
import {NewStudy} from './new_study';
import {StudyPage} from './study';

// No study has such an id.
const NEW_STUDY = '~new';

export default function StudiesPages({path: [id, part]}: FamilyProps) {
  if (id === undefined) return <StudyList/>;
  if (id === NEW_STUDY) return <NewStudy/>;
  return <StudyPage key={id} id={id} part={part ?? ''}/>;
}
