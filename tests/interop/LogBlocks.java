import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.hudi.common.model.DeleteRecord;
import org.apache.hudi.common.model.HoodieRecord;
import org.apache.hudi.common.table.log.block.HoodieDataBlock;
import org.apache.hudi.common.table.log.block.HoodieDeleteBlock;
import org.apache.hudi.common.table.log.block.HoodieLogBlock;
import org.apache.hudi.common.util.Option;
import org.apache.hudi.common.util.collection.ClosableIterator;

/**
 * What Hudi's reader has read, as JSON: py4j would need dozens of calls for each block, and forget the Java classes of
 * ordering values. Compiled by the judge with Janino, which knows neither generics nor lambdas.
 */
public class LogBlocks {
    private final ObjectMapper json = new ObjectMapper();

    /** One block without its content. */
    public String block(HoodieLogBlock block) throws Exception {
        Map found = new HashMap();
        found.put("type", block.getBlockType().name());
        found.put("header", texts(block.getLogBlockHeader()));
        found.put("footer", texts(block.getLogBlockFooter()));
        Option at = block.getBlockContentLocation();
        HoodieLogBlock.HoodieLogBlockContentLocation content =
                at.isPresent() ? (HoodieLogBlock.HoodieLogBlockContentLocation) at.get() : null;
        found.put("content_offset", content == null ? null : (Object) Long.valueOf(content.getContentPositionInLogFile()));
        found.put("content_bytes", content == null ? null : (Object) Long.valueOf(content.getBlockSize()));
        return json.writeValueAsString(found);
    }

    /** Avro's text of each record, or what is in each delete record; null of a block without records. */
    public String records(HoodieLogBlock block) throws Exception {
        List found = new ArrayList();
        if (block instanceof HoodieDeleteBlock) {
            DeleteRecord[] records = ((HoodieDeleteBlock) block).getRecordsToDelete();
            for (int one = 0; one < records.length; one++) {
                found.add(deleteRecord(records[one]));
            }
        } else if (block instanceof HoodieDataBlock) {
            ClosableIterator records = ((HoodieDataBlock) block).getRecordIterator(HoodieRecord.HoodieRecordType.AVRO);
            while (records.hasNext()) {
                found.add(((HoodieRecord) records.next()).getData().toString());
            }
            records.close();
        } else {
            found = null;
        }
        return json.writeValueAsString(found);
    }

    private Map texts(Map entries) {
        Map found = new HashMap();
        for (Iterator all = entries.entrySet().iterator(); all.hasNext(); ) {
            Map.Entry entry = (Map.Entry) all.next();
            found.put(entry.getKey().toString(), entry.getValue());
        }
        return found;
    }

    private Map deleteRecord(DeleteRecord record) throws Exception {
        Map found = new HashMap();
        found.put("recordKey", record.getRecordKey());
        found.put("partitionPath", record.getPartitionPath());
        List ordering = new ArrayList();
        addValue(ordering, record.getOrderingValue());
        found.put("ordering", ordering);
        return found;
    }

    /** Class and text of a value; those of each of several values follow. */
    private void addValue(List found, Object value) throws Exception {
        if (value == null) {
            return;
        }
        found.add(value.getClass().getName());
        found.add(value instanceof ByteBuffer ? hex((ByteBuffer) value) : value.toString());
        if (value.getClass().getSimpleName().equals("ArrayComparable")) { // 1.1 and later
            Object[] values = ((List) value.getClass().getMethod("getValues").invoke(value)).toArray();
            for (int one = 0; one < values.length; one++) {
                addValue(found, values[one]);
            }
        }
    }

    private String hex(ByteBuffer value) {
        StringBuilder text = new StringBuilder();
        for (int at = value.position(); at < value.limit(); at++) {
            text.append(String.format("%02x", new Object[] {Byte.valueOf(value.get(at))}));
        }
        return text.toString();
    }
}
