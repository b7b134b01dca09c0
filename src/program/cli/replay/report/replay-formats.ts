/** The forms of a report. */

import type { ReplayReport } from './replay-report';

export const REPLAY_FORMATS: Readonly<Record<'text' | 'json' | 'markdown' | 'html', (report: ReplayReport) => string>> = {
  text: (report) => `${JSON.stringify(report, null, 2)}\n`,
  json: (report) => `${JSON.stringify(report, null, 2)}\n`,
  markdown: (report) => `${JSON.stringify(report, null, 2)}\n`,
  html: (report) => `${JSON.stringify(report, null, 2)}\n`,
};
