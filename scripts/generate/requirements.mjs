/**
 * `node scripts/generate/requirements.mjs [RESULTS [ROOT]]`: writes docs/generated/requirements.md from the heads of the test files. With RESULTS,
 * `.cache/test-results`, it also fills in what the last run of each stage showed.
 */
import { ROOT, exitWith } from '../process/repository.mjs';
import { readResults, writeRequirements } from '../test/requirements.mjs';

const [folder = '', root = ROOT] = process.argv.slice(2);
if (folder === '') {
  writeRequirements({ root });
} else {
  const { problems, ...results } = readResults(folder);
  const failures = results.tests
    .filter(({ status }) => status === 'failed')
    .map(({ file, name }) => `${file}: a test failed: ${name}. Fix it, and run its stage again.`);
  if (problems.length + failures.length > 0) exitWith([...problems, ...failures].join('\n'));
  writeRequirements({ root, results });
}
