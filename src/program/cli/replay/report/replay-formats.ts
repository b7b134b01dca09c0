/** The forms of a report. */

import type { ReplayReport } from './replay-report';
import { formatHtml } from './report-html';
import { formatMarkdown, formatText } from './report-text';

export const REPLAY_FORMATS: Readonly<Record<'text' | 'json' | 'markdown' | 'html', (report: ReplayReport) => string>> = {
  text: formatText,
  json: (report) => `${JSON.stringify(report, null, 2)}\n`,
  markdown: formatMarkdown,
  html: formatHtml,
};
