// The files of a drop with their paths, also those inside dropped folders.

// A folder gives its entries in parts; an empty part is the end.
async function entriesOf(folder) {
  const reader = folder.createReader();
  const found = [];
  for (;;) {
    const part = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!part.length) return found;
    found.push(...part);
  }
}

export async function filesOf(entry, before = "") {
  const path = `${before}${entry.name}`;
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
    return [{ file, path }];
  }
  const inner = await entriesOf(entry);
  const found = await Promise.all(inner.map((one) => filesOf(one, `${path}/`)));
  return found.flat();
}

export async function dropped(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry()).filter(Boolean);
  const found = await Promise.all(entries.map((entry) => filesOf(entry)));
  return found.flat();
}
