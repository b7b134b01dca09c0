/** The report of `weir check` in each output format. */

import type { ConfigProblem, ConfigWarning } from '../../configuration/problems/config-error';

export interface Findings {
  readonly files: number;
  readonly domains: number;
  /** Counts unlimited rules too. */
  readonly limits: number;
  readonly errors: readonly ConfigProblem[];
  /** Errors beyond those listed. */
  readonly errorsOmitted: number;
  readonly warnings: readonly ConfigWarning[];
  readonly warningsOmitted: number;
}

export interface ReportOptions {
  /** Warnings fail the check, too. */
  readonly isStrict: boolean;
}

/** Each ends with a newline. */
export const FINDINGS_FORMATS: Readonly<Record<'text' | 'json' | 'github', (findings: Findings, options: ReportOptions) => string>> = {
  text: formatText,
  json: (findings, options) => `${JSON.stringify({ ok: isOk(findings, options), ...findings }, null, 2)}\n`,
  github: formatGithub,
};

export function isOk({ errors, warnings, warningsOmitted }: Findings, { isStrict }: ReportOptions): boolean {
  return errors.length === 0 && (!isStrict || warnings.length + warningsOmitted === 0);
}

function formatText(findings: Findings, options: ReportOptions): string {
  const { errors, errorsOmitted, warnings, warningsOmitted } = findings;
  const lines = [
    ...errors.map((error) => `${placeOf(error)}: error: ${sentenceOf(error)}`),
    ...(errorsOmitted > 0 ? [`and ${errorsOmitted} more errors`] : []),
    ...warnings.map((warning) => `${placeOf(warning)}: warning: ${sentenceOf(warning)} [${warning.rule}]`),
    ...(warningsOmitted > 0 ? [`and ${warningsOmitted} more warnings`] : []),
    summaryOf(findings, options),
  ];
  return `${lines.join('\n')}\n`;
}

/** `limits.yaml:4:5`, or only the file if the problem concerns all of it. */
function placeOf({ file, line, column }: ConfigProblem): string {
  return line === 0 ? file : `${file}:${line}:${column}`;
}

function sentenceOf({ path, message }: ConfigProblem): string {
  return path === '' ? message : `${path}: ${message}`;
}

function summaryOf(findings: Findings, options: ReportOptions): string {
  const { files, domains, limits, errors, errorsOmitted, warnings, warningsOmitted } = findings;
  const [errorCount, warningCount] = [errors.length + errorsOmitted, warnings.length + warningsOmitted];
  const found = `${counted(errorCount, 'error')}, ${counted(warningCount, 'warning')}`;
  // Rules with errors are not compiled, so counts of domains and limits would mislead.
  if (errorCount > 0) return `not ok: ${found} in ${counted(files, 'file')}`;
  if (!isOk(findings, options)) return `not ok, because of --strict: ${found} in ${counted(files, 'file')}`;
  return `ok: ${counted(domains, 'domain')}, ${counted(limits, 'limit')} in ${counted(files, 'file')}, ${found}`;
}

function counted(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

/** Workflow commands: GitHub Actions shows them at their lines. The summary is a plain line of the log. */
function formatGithub(findings: Findings, options: ReportOptions): string {
  const lines = [
    ...findings.errors.map((error) => annotation('error', { problem: error, title: 'weir check' })),
    ...findings.warnings.map((warning) => annotation('warning', { problem: warning, title: `weir check: ${warning.rule}` })),
    summaryOf(findings, options),
  ];
  return `${lines.join('\n')}\n`;
}

function annotation(level: 'error' | 'warning', { problem, title }: { problem: ConfigProblem; title: string }): string {
  const { file, line, column } = problem;
  const place = line === 0 ? { file } : { file, line, col: column };
  const properties = Object.entries({ ...place, title }).map(([name, value]) => `${name}=${escapeProperty(String(value))}`);
  return `::${level} ${properties.join(',')}::${escapeData(sentenceOf(problem))}`;
}

/** Escapes `%` first, since the other escapes contain it. */
function escapeData(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

function escapeProperty(text: string): string {
  return escapeData(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
}
