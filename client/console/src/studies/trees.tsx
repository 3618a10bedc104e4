// The trees of a study, with what the reports say about their nodes.

import {useMemo, useState} from 'preact/hooks';
import type {GetCountsResponse, NodeCounts} from 'proto/study_pb';
import {studies} from '../api/clients';
import {useLoad} from '../api/load';
import {count, percent, significant} from '../parts/format';
import {Remark, Section} from '../parts/layout';
import {Failure} from '../parts/notice';
import {Name} from '../parts/text';
import {ForestView, type NodeNote} from '../parts/tree';
import {treeFeatures} from '../trees/questions';
import type {StudyProps} from './study';
import {totalsOf} from './words';

export function StudyTrees({id, study}: StudyProps) {
  const [tree, setTree] = useState(0);
  const schema = study.terms.schema!;
  const features = useMemo(() => treeFeatures(schema), [schema]);
  const hasReports = totalsOf(study.counts).accepted > 0n;
  const counts = useLoad(async signal => hasReports ? studies.getCounts({name: `studies/${id}`, tree}, {signal}) : null, [id, tree, hasReports]);
  const byNode = useMemo(() => new Map(counts.data?.nodes.map(node => [node.node, node])), [counts.data]);
  const note: NodeNote = (number, _, node) => number === tree ? <Estimate counts={byNode.get(node)} classes={schema.classes}/> : null;
  if (study.forest === undefined || study.forest.trees.length === 0) {
    return <p>The trees of this study are gone: its time of retention is over.</p>;
  }
  return <Section title="Trees" aside="A device answers in one of them, which its ticket draws.">
    <Failure error={counts.error} retry={counts.reload}/>
    <ForestView forest={study.forest} features={features} onTree={setTree}
      {...(counts.data ? {note} : {})}/>
    <Remark>{hasReports && counts.data ? <About counts={counts.data}/>
      : 'The trees were grown from public rows alone. Once reports have come, each node says about how many rows it holds.'}</Remark>
  </Section>;
}

function About({counts}: {counts: GetCountsResponse}) {
  return <>Estimates from {count(counts.treeReports)} of {count(counts.reports)} reports, which answered in this tree; ± is one standard error. To estimate costs no privacy.</>;
}

/** "≈ 310 ± 40 rows, mostly yes (71 %)". */
function Estimate({counts, classes}: {counts: NodeCounts | undefined; classes: readonly string[]}) {
  if (counts === undefined) return null;
  const {rows, margin} = counts;
  if (rows === undefined) {
    return margin === undefined ? null : <span class="sure">margin ≈ {significant(margin.estimate, 3)} ± {significant(margin.standardError, 2)}</span>;
  }
  const error = Math.round(rows.standardError);
  return <span class="sure">≈ {count(Math.max(Math.round(rows.estimate), 0))}{error > 0 && ` ± ${count(error)}`} rows
    {rows.estimate > 2 * rows.standardError && <Mostly counts={counts} classes={classes}/>}</span>;
}

/** Shown only for nodes that surely hold rows: in others it would be noise. */
function Mostly({counts, classes}: {counts: NodeCounts; classes: readonly string[]}) {
  const estimates = counts.classes.map(each => Math.max(each.estimate, 0));
  const total = estimates.reduce((sum, each) => sum + each, 0), most = Math.max(...estimates), name = classes[estimates.indexOf(most)];
  if (!(total > 0) || name === undefined) return null;
  return <>, mostly <b><Name text={name} most={20}/></b> ({percent(most / total, 0)})</>;
}
