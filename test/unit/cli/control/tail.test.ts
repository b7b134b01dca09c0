/** weir tail: it shows as many samples as --count says, however many come at once. */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { runControl } from '../../../../src/cli/control/control-command';
import { tail } from '../../../../src/cli/control/tail';

test('samples that come in one piece are shown up to --count', async () => {
  const server = createServer((_, response) => {
    response.setHeader('content-type', 'text/event-stream');
    response.write('data: {"n":1}\n\ndata: {"n":2}\n\ndata: {"n":3}\n\n');
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const printed = jest.spyOn(console, 'log').mockImplementation();
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const run = runControl(tail, { args: ['--count', '2', '--json'], env: { WEIR_ADMIN_URL: url } });
    expect(await run).toBe(0);
    expect(printed.mock.calls.flat()).toEqual(['{"n":1}', '{"n":2}']);
  } finally {
    printed.mockRestore();
    server.closeAllConnections();
    server.close();
  }
});
