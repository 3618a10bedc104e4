// #/studies: all studies.

import {StudyState, StudyStateSchema} from 'proto/study_pb';
import {studies} from '../api/clients';
import {idOf} from '../api/ids';
import {wordOf} from '../parts/enums';
import {count} from '../parts/format';
import {Empty, Page, State, When} from '../parts/layout';
import {Failure, Loading} from '../parts/notice';
import {PageButtons, Table, usePages} from '../parts/table';
import {Name} from '../parts/text';
import {href} from '../route';
import {toneOf, totalsOf} from './words';

const REFRESH_MS = 10_000;
const NEW = <a class="button primary" href={href('studies', '~new')}>New study</a>;

export function StudyList() {
  const pages = usePages(async (pageToken, signal) => {
    const {studies: items, nextPageToken} = await studies.listStudies({pageSize: 50, pageToken}, {signal});
    return {items, nextPageToken};
  }, [], {everyMs: REFRESH_MS});
  const items = pages.data?.items;
  return <Page title="Studies" actions={items !== undefined && items.length > 0 && NEW}
    lead="In a study, each row stays on a device of its own, which sends one randomized report.">
    <Failure error={pages.error} retry={pages.reload}/>
    {items === undefined ? pages.loading && <Loading/> : <>
      <Table caption="Studies" quiet rows={items} rowKey={study => study.name} columns={[
        {head: 'study', cell: study => <a href={href('studies', idOf(study.name))}><Name text={idOf(study.name)}/></a>},
        {head: 'state', cell: study => <State tone={toneOf(study.state)}>{wordOf(StudyStateSchema, study.state)}</State>},
        {head: 'accepted', number: true, cell: study => count(totalsOf(study.counts).accepted)},
        {head: 'rejected', number: true, cell: study => count(totalsOf(study.counts).rejected)},
        {head: 'created', cell: study => <When at={study.createdUnixSeconds}/>},
        {head: 'ends', cell: study => <When at={study.state === StudyState.OPEN ? study.settings?.expiresUnixSeconds ?? 0n : 0n}/>},
        {head: 'owner', cell: study => study.owner === '' ? '–' : <Name text={study.owner} most={30}/>},
      ]} empty={<Empty title="There is no study yet" action={NEW}
        command="coppice study create --public public.csv --schema schema.json --epsilon 1">
        A study is made from a few public rows and a schema. Then devices answer, and models are built from their reports.</Empty>}/>
      <PageButtons pages={pages} what="studies"/>
    </>}
  </Page>;
}
