/** Where alerts and panels point to: the sections of the runbook. */

/** Where the runbook is in this repository. */
export const RUNBOOK = 'docs/runbook.md';

/** Links of panels begin with it, so that one variable of a dashboard changes them all. */
export const RUNBOOK_VARIABLE = '${runbook}';

/** The fragment of the alert's section. */
export function sectionOf(alert: string): string {
  return alert.toLowerCase();
}
