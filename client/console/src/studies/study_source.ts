// Loads one study again and again. GetStudy sends all of its trees each time, so what changes often comes from
// ListStudies, which sends neither trees nor terms.

import type {Study} from 'proto/study_pb';
import {totalsOf} from './words';

/** A study that exists, as it has terms. */
export type WholeStudy = Study & {terms: NonNullable<Study['terms']>};

export interface StudyCalls {
  get: (name: string, signal: AbortSignal) => Promise<Study | undefined>;
  list: (page: {pageSize: number; pageToken: string}, signal: AbortSignal) => Promise<{studies: Study[]; nextPageToken: string}>;
}

const PAGE_SIZE = 100;
const WHOLE_MS = 60_000; // how old the alarms may be, which only GetStudy tells

export class StudySource {
  #whole: {study: WholeStudy; at: number} | null = null;
  #received = 0n; // reports, when the study was loaded last, with its trees or without
  #token: string | null = null; // of the page of the list that begins with the study

  constructor(private readonly name: string, private readonly calls: StudyCalls, private readonly now: () => number = Date.now) {}

  /** The study as it is now, but for alarms, which may be a minute old. */
  async load(signal: AbortSignal): Promise<WholeStudy> {
    const whole = this.#whole;
    if (whole !== null && !this.#isOld(whole.at)) {
      const listed = await this.#find(signal);
      if (listed !== null && !tellsMore(listed, whole.study)) {
        this.#received = listed.received;
        const {terms, forest, alarms} = whole.study;
        return {...listed, terms, alarms, ...(forest === undefined ? {} : {forest})};
      }
    }
    const study = await this.calls.get(this.name, signal);
    if (study?.terms === undefined) throw new Error('The daemon answered without the study. Is something between it and the browser?');
    this.#whole = {study: study as WholeStudy, at: this.now()};
    this.#received = study.received;
    return this.#whole.study;
  }

  /** Whether reports have come since the alarms were told, which a load would tell anew. */
  hasOldAlarms(): boolean {
    return this.#whole !== null && this.#isOld(this.#whole.at) && this.#received !== this.#whole.study.received;
  }

  #isOld(at: number): boolean {
    return this.now() - at >= WHOLE_MS;
  }

  /** Null if the list lacks the study. */
  async #find(signal: AbortSignal): Promise<Study | null> {
    if (this.#token !== null) {
      const {studies: [study]} = await this.calls.list({pageSize: 1, pageToken: this.#token}, signal);
      if (study?.name === this.name) return study; // else studies before it were made or deleted
    }
    for (let pageToken = '';;) {
      const {studies, nextPageToken} = await this.calls.list({pageSize: PAGE_SIZE, pageToken}, signal);
      const before = studies.findIndex(study => study.name === this.name);
      if (before >= 0) {
        this.#token = before === 0 ? pageToken : (await this.calls.list({pageSize: before, pageToken}, signal)).nextPageToken;
        return studies[before]!;
      }
      if (nextPageToken === '') return null;
      pageToken = nextPageToken;
    }
  }
}

/** Whether trees are gone, or alarms are due now: there are none before the first report. */
function tellsMore(listed: Study, whole: Study): boolean {
  const hasReports = (study: Study) => totalsOf(study.counts).accepted > 0n;
  return listed.state !== whole.state || listed.retired !== whole.retired || hasReports(listed) !== hasReports(whole);
}
