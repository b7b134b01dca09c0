/** Compiling a long list of rules delays no call. */

import { compileInSteps } from '../../../src/configuration/compile/compile';
import { makeCompileSet } from '../../../src/configuration/source/compile-set';
import { readDocument } from '../../../src/configuration/yaml/config-document';

const FILE = { name: 'a.yaml', text: 'domain: d\ndescriptors: [{ key: k, rate_limit: { unit: hour, requests_per_unit: 3 } }]\n' };

test('rules are compiled with a pause after each descriptor, however deep it is', () => {
  const nested = '{ key: a, descriptors: [{ key: b, descriptors: [{ key: c, value: x }, { key: c }] }] }';
  const files = [
    {
      name: 'a.yaml',
      text: `domain: d\ndescriptors:\n  - ${nested}\n${Array.from({ length: 500 }, (_, i) => `  - { key: k, value: v${i} }\n`).join('')}`,
    },
  ];
  const steps = compileInSteps({ files, defaultAlgorithm: 'fixed_window', generation: 1 });
  let rests = 0;
  while (steps.next().done !== true) rests += 1;
  // Once when it is made, and once more if another one of its level may take what it would: those of a key alone.
  expect(rests).toBe(500 + 4 + 3);
});

test('a small first set compiles here, later text in a thread, and a thread that cannot start rejects the set', async () => {
  const compile = makeCompileSet({ defaultAlgorithm: 'fixed_window' });
  await expect(compile({ documents: [{ ...FILE, text: 'domain: [' }] }, 1)).rejects.toThrow(/^a\.yaml:1:10: not valid YAML/);
  await expect(compile({ documents: [{ ...FILE, text: ' '.repeat(64 * 1024 + 1) }] }, 1)).rejects.toThrow(
    'could not be parsed in a thread',
  );
  const first = await compile({ documents: [FILE] }, 1);
  expect(first.generation).toBe(1);
  // Uncompiled, as tests run it, there is no such thread.
  await expect(compile({ documents: [FILE] }, 2)).rejects.toMatchObject({
    name: 'ConfigError',
    message: expect.stringMatching(/^a.yaml: could not be parsed in a thread: /) as unknown,
  });
  // What has been read needs none.
  expect(await compile({ documents: [readDocument(FILE)] }, 2)).toEqual({ ...first, generation: 2 });
});
