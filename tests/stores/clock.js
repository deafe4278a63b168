// A request may bring the time at which it is done, in epoch milliseconds.
const { AsyncLocalStorage } = require('async_hooks');
const { Server } = require('http');

const moment = new AsyncLocalStorage();
const emit = Server.prototype.emit;
Server.prototype.emit = function (event, request, ...rest) {
  const given = event === 'request' && request.headers['moment'];
  return given
    ? moment.run(Number(given), () => emit.call(this, event, request, ...rest))
    : emit.call(this, event, request, ...rest);
};

const Real = Date;
globalThis.Date = class extends Real {
  constructor(...given) {
    super(...(given.length ? given : [moment.getStore() ?? Real.now()]));
  }
};
