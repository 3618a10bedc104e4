// A device in an Android app: one visit at a time, by WorkManager. Not compiled here, and not tested on a phone.
// SurveyRow is what this writes: coppice schema generate --language java --package coppice.sample --schema survey.json ...
package coppice.sample

import android.content.Context
import androidx.work.BackoffPolicy
import androidx.work.Constraints
import androidx.work.CoroutineWorker
import androidx.work.ExistingWorkPolicy
import androidx.work.NetworkType
import androidx.work.OneTimeWorkRequestBuilder
import androidx.work.WorkManager
import androidx.work.WorkerParameters
import coppice.device.Carrier
import coppice.device.CoppiceException
import coppice.device.Device
import coppice.device.DeviceOptions
import coppice.device.DeviceState
import coppice.device.HttpCarrier
import coppice.device.Outcome
import coppice.device.VisitOptions
import java.io.File
import java.util.concurrent.TimeUnit
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.runInterruptible

// Cancelling the coroutine interrupts the visit. What is in the journal by then is sent by the next one.
suspend fun Device.visitSuspending(options: VisitOptions, carrier: Carrier): Outcome =
    runInterruptible(Dispatchers.IO) { visit(options, carrier) }

suspend fun Device.stateSuspending(): DeviceState = runInterruptible(Dispatchers.IO) { state() }

suspend fun Device.optOutSuspending(optedOut: Boolean) = runInterruptible(Dispatchers.IO) { optOut(optedOut) }

class SurveyWorker(context: Context, parameters: WorkerParameters) : CoroutineWorker(context, parameters) {
    override suspend fun doWork(): Result =
        try {
            openDevice(applicationContext).use { device ->
                val carrier = HttpCarrier.to(CURATOR, applicationContext.assets.open("curator_ca.pem").readBytes())
                val visit = VisitOptions.toCurator(CURATOR)
                    // The person agreed in the app before this work was enqueued. This must not depend on the row.
                    .review { terms -> terms.study() == STUDY }
                    .answer(STUDY) { _, row -> row.set(readRow().toMap()) }
                device.visitSuspending(visit, carrier)
                if (device.stateSuspending().waiting() > 0) Result.retry() else Result.success()
            }
        } catch (_: CoppiceException.Unavailable) {
            Result.retry() // another process has the journal, or its file fails
        } catch (_: CoppiceException) {
            Result.failure() // declined, or the journal is corrupt: never start a new one as if nothing had been
        }

    // What the app knows of the person. It never leaves the phone.
    private fun readRow() = SurveyRow().apply {
        age = 41.0
        shift = SurveyRow.Shift.NIGHT
        sleepsBadly = SurveyRow.SleepsBadly.YES
    }

    companion object {
        private const val CURATOR = "curator.example:8444"
        private const val CURATOR_KEY = "ed25519:..." // from a source that the curator does not control
        private const val STUDY = "sleep"

        // In the folder that the rules for backups leave out. For the app's own screen too: history, what is left.
        fun openDevice(context: Context): Device {
            val folder = File(context.filesDir, "coppice").apply { mkdirs() }
            return Device.open(DeviceOptions(File(folder, "journal").path).curatorKey(CURATOR_KEY))
        }

        fun enqueue(context: Context) {
            val request = OneTimeWorkRequestBuilder<SurveyWorker>()
                .setConstraints(Constraints.Builder().setRequiredNetworkType(NetworkType.CONNECTED).build())
                .setBackoffCriteria(BackoffPolicy.EXPONENTIAL, 1, TimeUnit.MINUTES)
                .build()
            WorkManager.getInstance(context).enqueueUniqueWork("coppice-survey", ExistingWorkPolicy.KEEP, request)
        }
    }
}
