/** `weir check` prints each finding as one escaped line in the form for GitHub. */

import { FINDINGS_FORMATS, type Findings } from '../../../src/program/cli/check-report';

const NOTHING: Findings = { files: 1, domains: 1, limits: 2, errors: [], errorsOmitted: 0, warnings: [], warningsOmitted: 0 };

const LENIENT = { isStrict: false };

const HOSTILE = {
  file: 'a,b:c%\r\n.yaml',
  line: 4,
  column: 5,
  path: 'descriptors[0]',
  message: 'not valid: 50%\n::error::of it, and\rmore',
};

test('text: errors come before warnings, omitted ones are counted, and a summary is last', () => {
  const error = { file: 'a.yaml', line: 1, column: 2, path: 'domain', message: 'is missing' };
  const findings = {
    ...NOTHING,
    errors: [error, { ...error, line: 0, column: 0, path: '' }],
    errorsOmitted: 3,
    warnings: [{ ...error, rule: 'no-effect' as const }],
    warningsOmitted: 2,
  };
  expect(FINDINGS_FORMATS.text(findings, LENIENT)).toBe(
    'a.yaml:1:2: error: domain: is missing\na.yaml: error: is missing\nand 3 more errors\n' +
      'a.yaml:1:2: warning: domain: is missing [no-effect]\nand 2 more warnings\nnot ok: 5 errors, 3 warnings in 1 file\n',
  );
  expect(FINDINGS_FORMATS.text(NOTHING, LENIENT)).toBe('ok: 1 domain, 2 limits in 1 file, 0 errors, 0 warnings\n');
});

test('github: each finding is one command line, escaped as the runner reads it', () => {
  expect(FINDINGS_FORMATS.github({ ...NOTHING, errors: [HOSTILE] }, LENIENT).split('\n')).toEqual([
    '::error file=a%2Cb%3Ac%25%0D%0A.yaml,line=4,col=5,title=weir check::descriptors[0]: not valid: 50%25%0A::error::of it, and%0Dmore',
    'not ok: 1 error, 0 warnings in 1 file',
    '',
  ]);
});

test('github: a problem of the whole file has no line', () => {
  const warning = { file: 'a.yaml', line: 0, column: 0, path: '', message: 'is odd', rule: 'no-effect' as const };
  expect(FINDINGS_FORMATS.github({ ...NOTHING, warnings: [warning] }, LENIENT)).toContain(
    '::warning file=a.yaml,title=weir check%3A no-effect::is odd\n',
  );
});

test('json: the report has everything, and whether the configuration would load', () => {
  expect(JSON.parse(FINDINGS_FORMATS.json({ ...NOTHING, errors: [HOSTILE] }, LENIENT))).toEqual({
    ok: false,
    ...NOTHING,
    errors: [HOSTILE],
  });
  expect(JSON.parse(FINDINGS_FORMATS.json(NOTHING, LENIENT))).toMatchObject({ ok: true });
});

test('with --strict a warning fails the check: the summary and the JSON say so', () => {
  const warning = { file: 'a.yaml', line: 1, column: 2, path: '', message: 'is odd', rule: 'no-effect' as const };
  const findings = { ...NOTHING, warnings: [warning] };
  expect(FINDINGS_FORMATS.text(findings, { isStrict: true })).toMatch(/\nnot ok, because of --strict: 0 errors, 1 warning in 1 file\n$/);
  expect(JSON.parse(FINDINGS_FORMATS.json(findings, { isStrict: true }))).toMatchObject({ ok: false });
  expect(FINDINGS_FORMATS.text(findings, LENIENT)).toMatch(/\nok: 1 domain, 2 limits in 1 file, 0 errors, 1 warning\n$/);
});
