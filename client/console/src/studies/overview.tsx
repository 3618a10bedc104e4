// The reports of a study: how many, with which outcome, over time, and what the sums say about the devices.

import {useEffect, useMemo, useRef} from 'preact/hooks';
import {MechanismSchema, ReportOutcome, ReportOutcomeSchema, type GetReportHistoryResponse} from 'proto/study_pb';
import {studies} from '../api/clients';
import {isUnimplemented} from '../api/errors';
import {useLoad} from '../api/load';
import {Chart} from '../parts/chart';
import {meaningOf, nameOf, wordOf} from '../parts/enums';
import {count, countOf, duration, epsilon, percent, significant} from '../parts/format';
import {Empty, Figures, Remark, Section, Sentences, State, When} from '../parts/layout';
import {Failure, Loading, Notice} from '../parts/notice';
import {Table} from '../parts/table';
import {visible} from '../parts/text';
import {RelaySection} from './relay';
import {isOpen, type StudyProps} from './study';
import {totalsOf} from './words';

const HISTORY_MS = 5000, STUDY_MS = 10_000;

export function StudyOverview({id, study, loaded, hasOldAlarms}: StudyProps) {
  const totals = totalsOf(study.counts);
  const history = useLoad(signal => studies.getReportHistory({name: `studies/${id}`}, {signal}), [id], {everyMs: isOpen(study) ? HISTORY_MS : 0});
  useFreshStudy(history.data, isUnimplemented(history.error), isOpen(study), hasOldAlarms, loaded.reload);
  const settings = study.settings;
  return <>
    <Figures figures={[
      {name: 'Accepted reports', value: count(totals.accepted), note: isOpen(study) ? 'and more may come' : 'all there will be'},
      {name: 'Rejected', value: count(totals.rejected), note: countOf(totals.duplicate, 'duplicate')},
      {name: 'Epsilon per report', value: epsilon(study.terms.epsilonNanos), note: nameOf(MechanismSchema, study.terms.mechanism)},
      {name: 'Trees', value: count(study.terms.trees), note: countOf(study.publicRows, 'public row')},
      {name: isOpen(study) ? 'Ends' : 'Sealed', value: <When at={isOpen(study) ? settings?.expiresUnixSeconds ?? 0n : study.sealedUnixSeconds}/>,
        note: isOpen(study) ? settings?.expiresUnixSeconds ? '' : 'when you seal it' : study.expired ? 'its time was over' : 'by hand'},
    ]}/>
    <p>Each report is differentially private with epsilon {epsilon(study.terms.epsilonNanos)}. Neighbours: {visible(study.neighbouring)}.</p>
    <Alarms study={study}/>
    <RelaySection study={study}/>
    <Section title="Reports over time" aside={history.data !== undefined && `steps of ${duration(history.data.stepSeconds)}`}>
      {history.data !== undefined ? <History data={history.data} id={id}/>
        : isUnimplemented(history.error) ? <Remark>This daemon keeps no history of reports: it is older than this console. The totals below are complete.</Remark>
          : history.error !== null ? <Failure error={history.error} retry={history.reload}/> : <Loading/>}
    </Section>
    <Section title="By outcome" aside="since the study was created">
      <Table caption="Reports by outcome" quiet rows={[...study.counts].sort((a, b) => a.outcome - b.outcome)} rowKey={({outcome}) => outcome} columns={[
        {head: 'outcome', cell: ({outcome}) => wordOf(ReportOutcomeSchema, outcome)},
        {head: 'reports', number: true, cell: ({reports}) => count(reports)},
        {head: 'share', number: true, cell: ({reports}) => percent(Number(reports) / Number(totals.accepted + totals.duplicate + totals.rejected))},
        {head: 'what it means', cell: ({outcome}) => meaningOf(ReportOutcomeSchema, outcome)},
      ]} empty={!isOpen(study) ? <Empty title="No report came before it was sealed"/>
        : study.relay !== undefined ? <Empty title="No report has come yet">Devices answer through the study's relay, which passes their reports on when there are enough.</Empty> : <Empty title="No report has come yet" command={`coppice collect simulate --study ${id} --data private.csv --schema schema.json`}>
        Devices fetch the offer, randomize their row and send one report each. A rehearsal takes each row of a file through the same path.</Empty>}/>
    </Section>
  </>;
}

/**
 * Reloads the study when its history shows new reports, or now and then if there is no history, at most once
 * per STUDY_MS; and for alarms that have grown old.
 */
function useFreshStudy(history: GetReportHistoryResponse | undefined, hasNoHistory: boolean, open: boolean, hasOldAlarms: () => boolean, reload: () => void): void {
  const total = history?.steps.reduce((sum, {counts}) => counts.reduce((all, {reports}) => all + reports, sum), 0n);
  const shown = useRef<bigint | undefined>(undefined); // the history's total when the study was loaded
  const latest = useRef(total);
  const loadedAt = useRef(0);
  latest.current = total;
  const look = () => {
    if (document.visibilityState !== 'visible' || Date.now() - loadedAt.current < STUDY_MS) return;
    if (!hasNoHistory && latest.current === shown.current && !hasOldAlarms()) return;
    // The first history is as old as the study shown.
    if (hasNoHistory || shown.current !== undefined) {
      reload();
      loadedAt.current = Date.now();
    }
    shown.current = latest.current;
  };
  useEffect(() => { if (open && total !== undefined) look(); }, [open, total]);
  useEffect(() => {
    if (!open) return;
    const timer = setInterval(look, STUDY_MS);
    return () => clearInterval(timer);
  }, [open, hasNoHistory]);
}

const LINES: readonly (readonly [string, (outcome: ReportOutcome) => boolean])[] = [
  ['accepted', outcome => outcome === ReportOutcome.ACCEPTED],
  ['rejected', outcome => outcome !== ReportOutcome.ACCEPTED && outcome !== ReportOutcome.DUPLICATE],
  ['duplicate', outcome => outcome === ReportOutcome.DUPLICATE],
];

const FEWEST_STEPS = 30;

/** The columns of the chart: the steps, unknown ones before them if they are few, and the end of the last one. */
function columnsOf({steps, stepSeconds}: GetReportHistoryResponse) {
  const before = Math.max(FEWEST_STEPS - steps.length, 0), begin = Number(steps[0]?.beginUnixSeconds ?? 0n);
  const unknown = Array.from({length: before}, (_, i) => begin - stepSeconds * (before - i));
  const times = steps.map(step => Number(step.beginUnixSeconds));
  const counted = LINES.map(([name, belongs]) => ({name, values: steps.map(({counts}) =>
    counts.reduce((sum, {outcome, reports}) => belongs(outcome) ? sum + Number(reports) : sum, 0))}));
  const total = counted.map(({values}) => values.reduce((sum, n) => sum + n, 0));
  return {begin, total, x: [...unknown, ...times, (times.at(-1) ?? 0) + stepSeconds],
    series: counted.filter((_, i) => i === 0 || total[i]! > 0).map(({name, values}) => ({name, values: [...unknown.map(() => null), ...values, values.at(-1) ?? null]}))};
}

function History({data, id}: {data: GetReportHistoryResponse; id: string}) {
  const {begin, x, series, total} = useMemo(() => columnsOf(data), [data]);
  const sum = total.reduce((all, n) => all + n, 0);
  if (sum === 0) return <Remark>No report has come since the daemon began to count{begin > 0 && <>, <When at={begin} exact/></>}.</Remark>;
  return <>
    <Chart steps xKind="time" x={x} series={series} height={200} format={count}
      description={`Reports of ${visible(id)} per ${duration(data.stepSeconds)}: ${total[0]} accepted, ${total[1]} rejected, ${total[2]} duplicates.`}/>
    <Remark>Since the daemon began to count, <When at={begin} exact/>: {countOf(total[0]!, 'report')} accepted, {count(total[1]!)} rejected, {countOf(total[2]!, 'duplicate')}. The last step is not over.</Remark>
  </>;
}

function Alarms({study}: {study: StudyProps['study']}) {
  const raised = study.alarms.filter(alarm => alarm.raised);
  if (study.alarms.length === 0) return null;
  if (raised.length === 0) {
    return <State tone="good" sentence>The sums look as honest devices make them: {countOf(study.alarms.length, 'check')}, no alarm.</State>;
  }
  return <Notice kind="warning" title={`${countOf(raised.length, 'alarm')}: the sums do not look as honest devices make them`}>
    <Sentences texts={raised.map(alarm => `${alarm.text} (${significant(alarm.value, 3)} standard errors)`)}/>
    <p class="advice">Honest devices would come this far with a probability below 1 in 10,000 at one look. docs/research/poisoning.md says what to do.</p>
  </Notice>;
}
