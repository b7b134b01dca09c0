/** `node chunk-flood.cjs PORT PATH CONNECTIONS`: sends bodies in chunks of one byte as fast as they are read, until it is killed. */
'use strict';

const { Buffer } = require('node:buffer');
const { connect } = require('node:net');

const [port, target, connections] = process.argv.slice(2);
const HEAD = `POST ${target} HTTP/1.1\r\nhost: weir\r\ntransfer-encoding: chunked\r\n\r\n`;
const CHUNKS = Buffer.from('1\r\n \r\n'.repeat(10_923));

// Whatever happens to the process that started this one.
setTimeout(() => process.exit(), 60_000);
for (let i = 0; i < Number(connections); i += 1) attack();

function attack() {
  const socket = connect(Number(port), '127.0.0.1').on('error', () => undefined);
  const send = () => {
    while (!socket.destroyed) if (!socket.write(CHUNKS)) return;
  };
  socket.on('drain', send);
  socket.resume().once('end', () => socket.destroy());
  socket.once('close', attack);
  socket.write(HEAD);
  send();
}
