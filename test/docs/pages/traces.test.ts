/** The page of traces lists exactly the attributes that spans have. */

import { tableRows } from '../../support/docs/markdown';
import { sourceFiles } from '../../support/docs/source-files';

const PAGE = 'docs/traces.md';
const OF_SPANS = /^(?:server\/observability\/tracing\/(?:otel-tracer|span-attributes)|program\/app\/telemetry\/open-tracing)\.ts$/;

test('the page lists exactly the attributes of the code', () => {
  const documented = tableRows(PAGE).flatMap(([names]) => Array.from(names!.matchAll(/`([a-z_]+(?:\.[a-z_]+)+)`/g), ([, name]) => name));
  const files = sourceFiles().filter(({ name }) => OF_SPANS.test(name));
  expect(files).toHaveLength(3);
  const used = files.flatMap(({ text }) =>
    Array.from(text.matchAll(/'((?:rpc|http|db|server|weir|error|service)(?:\.[a-z_]+)+)'/g), ([, name]) => name),
  );
  expect([...new Set(documented)].sort()).toEqual([...new Set(used)].sort());
});
