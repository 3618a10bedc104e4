// A device: one private row, one randomized report per study. Compiled by nobody here.
//
// Everything that protects the person happens in the C core; this file carries bytes and words to it.
import CCoppiceDevice
import Foundation

/// What the library refuses or cannot do, in words. The code is one of COPPICE_….
public struct CoppiceError: Error, CustomStringConvertible {
    public let code: Int32
    public let description: String

    init(_ error: coppice_error) {
        code = error.code
        description = withUnsafeBytes(of: error.text) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }

    static func check(_ work: (UnsafeMutablePointer<coppice_error>) -> Int32) throws {
        var error = coppice_error()
        if work(&error) != 0 { throw CoppiceError(error) }
    }
}

/// A call to carry to the curator or the relay.
public struct Call {
    public let method: String
    public let request: Data
    /// Whether this is the one call with which a relay's token is shown.
    public let takesTicket: Bool
}

/// Thrown by a carrier: the call failed, by a code of gRPC's from 1 to 16.
public struct CallFailed: Error {
    public let code: Int32
    public init(code: Int32) { self.code = code }
}

/// Sets a row's columns by their names. Valid while the reader runs that it is given to.
public struct Row {
    let row: OpaquePointer

    public func set(_ column: String, _ text: String) {
        var bytes = Array(text.utf8)
        let size = bytes.count
        bytes.append(0)
        bytes.withUnsafeBufferPointer { buffer in
            buffer.baseAddress!.withMemoryRebound(to: CChar.self, capacity: size + 1) {
                coppice_row_set_text(row, column, $0, size)
            }
        }
    }

    public func set(_ column: String, _ number: Double) { coppice_row_set_number(row, column, number) }
}

/// What of the row is set when nothing can decline any more.
public typealias RowReader = (Row) -> Void

/// Its actor is what the C interface asks for: one thread at a time. Close it when it is no longer needed.
public actor Device {
    private var device: OpaquePointer?
    private var isVisiting = false

    /// `journal` is a file that only this device uses, left out of backups. `curatorKey` is "ed25519:…" or PEM.
    public init(journal: String, curatorKey: String) throws {
        var key = [UInt8](repeating: 0, count: 32)
        try CoppiceError.check { coppice_key_parse(curatorKey, &key, $0) }
        var options = coppice_device_options()
        coppice_device_options_init_sized(&options, MemoryLayout<coppice_device_options>.stride)
        var opened: OpaquePointer?
        try journal.withCString { path in
            try key.withUnsafeBufferPointer { pinned in
                options.journal_path = path
                options.curator_key = pinned.baseAddress
                try CoppiceError.check { coppice_device_open(&options, &opened, $0) }
            }
        }
        device = opened
    }

    deinit { coppice_device_close(device) }

    /// While a visit is under way it has no effect.
    public func close() {
        if isVisiting { return }
        coppice_device_close(device)
        device = nil
    }

    public func optOut(_ optedOut: Bool) throws {
        try CoppiceError.check { coppice_device_opt_out(device, optedOut ? 1 : 0, $0) }
    }

    /// What was spent, and what is left of the total, in billionths.
    public func state() throws -> coppice_device_state {
        var state = coppice_device_state()
        state.struct_size = MemoryLayout<coppice_device_state>.stride
        try CoppiceError.check { coppice_device_get_state(device, &state, $0) }
        return state
    }

    /// Answers the study, and delivers what waits. `carry` brings a call to the curator and returns the response.
    /// What goes wrong with one step is passed over: the outcome has what became of the answer.
    public func visit(
        curator: String, study: String, read: @escaping RowReader, carry: (Call) async throws -> Data
    ) async throws -> coppice_outcome {
        if isVisiting { throw CallFailed(code: 3) } // a device has one visit at a time
        isVisiting = true
        defer { isVisiting = false }
        let reader = Unmanaged.passRetained(ReaderBox(read))
        defer { reader.release() }
        let visit = try open(curator, study, reader.toOpaque())
        defer { coppice_visit_close(visit) }
        while let (call, wait) = try next(visit) {
            if wait > 0 {
                try await Task.sleep(nanoseconds: wait * 1_000_000)
                continue
            }
            do {
                let response = try await carry(call)
                response.withUnsafeBytes {
                    _ = coppice_visit_take(visit, $0.bindMemory(to: UInt8.self).baseAddress, $0.count, nil)
                }
            } catch let failed as CallFailed {
                _ = coppice_visit_fail(visit, failed.code, nil)
            }
        }
        var outcome = coppice_outcome()
        outcome.struct_size = MemoryLayout<coppice_outcome>.stride
        _ = coppice_visit_get_outcome(visit, &outcome)
        return outcome
    }

    private func open(_ curator: String, _ study: String, _ reader: UnsafeMutableRawPointer) throws -> OpaquePointer? {
        var options = coppice_visit_options()
        coppice_visit_options_init_sized(&options, MemoryLayout<coppice_visit_options>.stride)
        options.context = reader
        options.read_row = { context, _, row in
            Unmanaged<ReaderBox>.fromOpaque(context!).takeUnretainedValue().read(Row(row: row!))
        }
        var visit: OpaquePointer?
        try curator.withCString { address in
            try study.withCString { id in
                options.curator = address
                options.study = id
                try CoppiceError.check { coppice_visit_open(device, &options, &visit, $0) }
            }
        }
        return visit
    }

    private func next(_ visit: OpaquePointer?) throws -> (Call, UInt64)? {
        var call = coppice_call()
        call.struct_size = MemoryLayout<coppice_call>.stride
        try CoppiceError.check { coppice_visit_next(visit, &call, $0) }
        guard let method = call.method else { return nil }
        let request = call.request.map { Data(bytes: $0, count: call.request_size) } ?? Data()
        let carried = Call(method: String(cString: method), request: request, takesTicket: call.takes_ticket != 0)
        return (carried, call.wait_milliseconds)
    }
}

private final class ReaderBox {
    let read: RowReader
    init(_ read: @escaping RowReader) { self.read = read }
}
