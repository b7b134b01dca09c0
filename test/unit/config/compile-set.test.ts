/** A first set is made at once, unless it is large; what goes wrong with the thread that reads later ones refuses them. */

import { compileInSteps } from '../../../src/config/compile';
import { makeCompileSet } from '../../../src/config/compile-set';
import { readDocument } from '../../../src/config/config-document';

const FILE = { name: 'a.yaml', text: 'domain: d\ndescriptors: [{ key: k, rate_limit: { unit: hour, requests_per_unit: 3 } }]\n' };

test('rules are made with a rest after each descriptor, however deep it is', () => {
  const nested = '{ key: a, descriptors: [{ key: b, descriptors: [{ key: c, value: x }, { key: c }] }] }';
  const files = [{ name: 'a.yaml', text: `domain: d\ndescriptors:\n  - ${nested}\n${Array.from({ length: 500 }, (_, i) => `  - { key: k, value: v${i} }\n`).join('')}` }];
  const steps = compileInSteps({ files, defaultAlgorithm: 'fixed_window', generation: 1 });
  let rests = 0;
  while (steps.next().done !== true) rests += 1;
  // Once when it is read, once when it is made, once when it is looked at for warnings.
  expect(rests).toBe(3 * (500 + 4));
});

test('the first is made here unless it is large, later ones of text in a thread; one that can not begin is a refusal', async () => {
  const compile = makeCompileSet({ defaultAlgorithm: 'fixed_window' });
  await expect(compile({ documents: [{ ...FILE, text: 'domain: [' }] }, 1)).rejects.toThrow(/^a\.yaml:1:10: not valid YAML/);
  await expect(compile({ documents: [{ ...FILE, text: ' '.repeat(4 * 1024 * 1024 + 1) }] }, 1)).rejects.toThrow('could not be read in a thread of its own');
  const first = await compile({ documents: [FILE] }, 1);
  expect(first.generation).toBe(1);
  // Uncompiled, as tests run it, there is no such thread.
  await expect(compile({ documents: [FILE] }, 2)).rejects.toMatchObject({ name: 'ConfigError', message: expect.stringMatching(/^the configuration: could not be read in a thread of its own: /) as unknown });
  // What has been read needs none.
  expect(await compile({ documents: [readDocument(FILE)] }, 2)).toEqual({ ...first, generation: 2 });
});
